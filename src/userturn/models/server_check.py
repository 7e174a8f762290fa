"""The check of a server: its model and what it can promise, before the first request of a sweep.

It is proven that the server reads our prompts as our tokens: by the ids that it returns, or by its
count of tokens (and its own tokenizer, if it shows one) over prompts that would betray a second
BOS, a stripped space or an escaped special token. A few greedy completions, and how likely it finds
a few texts, are its fingerprint.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from userturn.endpoints.budget import Account
from userturn.endpoints.http_client import LONGEST_NAME
from userturn.endpoints.http_replies import (
    BusyError,
    EndpointError,
    UnreachedError,
    replace_surrogates,
)
from userturn.errors import UserError
from userturn.models.completion_endpoint import CompletionEndpoint, Dialect
from userturn.models.requests import Request, Sampling, ScoringRequest
from userturn.models.server_replies import ReplyError, ask
from userturn.prompts.chat_template import Prompt, Template
from userturn.prompts.examples import EXAMPLE, user

TELLS = (
    "id",
    "max_model_len",
    "owned_by",
    "version",
    "build_info",
    "quantization",
    "model_ftype",
    "dtype",
)
OWN_ACCOUNTS = ("version", "props", "get_server_info")  # of vLLM, llama.cpp and SGLang


async def server_account(endpoint: CompletionEndpoint) -> dict[str, Any]:
    """Return the model name, versions and limits that a server reports.

    Raises:
        UserError: the server lists models, and not the one that is to be asked.
    """
    listed = await endpoint.told(f"{endpoint.url}/models")
    models = listed.get("data") if isinstance(listed, dict) else None
    models = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    model = endpoint.settings["model"]
    mine = [one for one in models if one.get("id") == model]
    if models and not mine:
        names = ", ".join(sorted(_redacted(endpoint, one.get("id")) for one in models)[:8])
        raise UserError(
            f"the server '{endpoint.url}' has no model '{model}'; it has {names}: set `served_as` "
            "of the model's entry"
        )
    account: dict[str, Any] = {}
    root = endpoint.url.removesuffix("/v1")
    for told in [*mine[:1], *[await endpoint.told(f"{root}/{name}") for name in OWN_ACCOUNTS]]:
        if isinstance(told, dict):
            scalars = {k: v for k, v in told.items() if k in TELLS and isinstance(v, str | int)}
            account |= {key: _redacted(endpoint, value) for key, value in scalars.items()}
            of_llama = told.get("default_generation_settings")
            most = of_llama.get("n_ctx") if isinstance(of_llama, dict) else None
            account |= {"max_model_len": str(most)} if type(most) is int else {}
    return account


def _redacted(endpoint: CompletionEndpoint, value: Any) -> str:
    return endpoint.redacted(replace_surrogates(str(value)), LONGEST_NAME)


QUESTIONS = (
    "Name three rivers and say where each of them ends.",
    "Write the first lines of a story about a lighthouse.",
    "How would you explain to a child why the sky is blue?",
    "List what one needs to bake bread, and the steps.",
)
N_WRITTEN = 24  # tokens of each completion of the fingerprint
DIGITS = 4  # of a log-likelihood of the fingerprint
SEEDS = (6_148_914_691_236_517_205, 3_074_457_345_618_258_602)  # as large as a study's own
# Dialects to try, the best first. The reply shows whether ids come back.
WAYS = (
    Dialect(True, True, True),
    Dialect(True, True, True, ids_by="logprobs"),
    Dialect(True, False, True),
    Dialect(False, False, True),
    Dialect(False, False, False),
)


@dataclass(frozen=True)
class ServerCheck:
    """The result of a check of a server.

    Attributes:
        account: the model name, versions and limits that it reports.
        dialect: the best way to ask it.
        keeps_seeds: whether equal seeds give equal samples, and other seeds other samples.
        keeps_top_k: whether `top_k` of 1 is greedy at temperature 1.
        greedy: its greedy completions of the prompts of the fingerprint.
        scored: log-likelihoods of the tokens of these prompts, empty if it scores no text.
    """

    account: Mapping[str, Any]
    dialect: Dialect
    keeps_seeds: bool
    keeps_top_k: bool
    greedy: tuple[str, ...]
    scored: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the check as the JSON object that a study stores."""
        content = asdict(self)
        lists = {"greedy": list(self.greedy), "scored": list(self.scored)}
        return {**content, "dialect": self.dialect._asdict(), **lists}


def proof_prompts(template: Template) -> Iterator[Prompt]:
    """Yield prompts that have another number of tokens if they are read in another way."""
    answer = EXAMPLE[1]["content"]
    yield template.answer_prompt(EXAMPLE[:1])
    yield template.probe_prompt(EXAMPLE[:1], answer)
    for text in ("  Two spaces before, one after ", "A tab\tand lines\n\n\nfor Ünal <b>&amp;</b> "):
        yield Prompt(text, tuple(template.encoder.encode_whole(text)))


@dataclass(frozen=True)
class Inquiry:
    """A few questions of our own to a server."""

    endpoint: CompletionEndpoint
    template: Template
    account: Account

    async def written(self, prompt: Prompt, dialect: Dialect, **overrides: Any) -> str:
        """Return the text of a continuation, checked like every other reply."""
        plain = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "presence_penalty": 0.0}
        settings = {**plain, "max_tokens": N_WRITTEN, "seed": None, **overrides}
        sampling = Sampling(**settings, stop_token_ids=self.template.stop_token_ids)
        request = Request("", "", "", 0, prompt, sampling)
        done = await ask(self.endpoint, request, dialect, self.template, self.account)
        return self.template.decode(done.token_ids)

    async def dialect(self) -> Dialect:
        """Return the best way to ask the server that it is proven to understand.

        Raises:
            UserError: the server does not read our prompts as our tokens in any way.
        """
        why = []
        for way in WAYS:
            try:
                for prompt in proof_prompts(self.template):
                    await self.written(prompt, way, max_tokens=1)
                if not way.takes_ids:
                    await self._tokenizes_alike()
            except BusyError:
                raise
            except UnreachedError as error:
                raise UserError(
                    f"no server answers at '{self.endpoint.url}' ({error}); expected the address "
                    "of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1"
                ) from None
            except (ReplyError, EndpointError) as error:
                why.append(str(error))
            else:
                return way
        raise UserError(
            f"the server '{self.endpoint.url}' is not proven to read this model's prompts as its "
            f"tokens: with token ids, {why[0]}; with text, {why[-1]}; check that it serves the "
            "entry's `source`, or ask another server"
        )

    async def _tokenizes_alike(self) -> None:
        """Compare our tokens with those of the server's tokenizer, if it shows one."""
        root = self.endpoint.url.removesuffix("/v1")
        for prompt in proof_prompts(self.template):
            of_vllm = {"prompt": prompt.text, "add_special_tokens": False}
            of_llama = {"content": prompt.text, "add_special": False, "parse_special": True}
            sent = {"model": self.endpoint.settings["model"], **of_vllm, **of_llama}
            told = await self.endpoint.told(f"{root}/tokenize", sent)
            tokens = told.get("tokens") if isinstance(told, dict) else None
            if isinstance(tokens, list) and tokens != list(prompt.token_ids):
                raise ReplyError("its tokenizer gives a prompt other tokens than ours")

    async def scores(self, prompt: Prompt, dialect: Dialect) -> tuple[float, ...]:
        """Return the log-likelihood (nats) of each token of a prompt but the first."""
        request = ScoringRequest("", "", "", prompt.token_ids, 1)
        done = await ask(self.endpoint, request, dialect, self.template, self.account)
        return done.logprobs

    async def scores_by(self, dialect: Dialect) -> str | None:
        """Return the field by which the server scores a text, or None if it does not."""
        prompt = self.template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"])
        for name in ("prompt_logprobs", "echo"):
            try:
                await self.scores(prompt, dialect._replace(scores_by=name))
            except BusyError:
                raise
            except (ReplyError, EndpointError):
                continue
            return name
        return None


async def check_server(inquiry: Inquiry) -> ServerCheck:
    """Return the check of a server, or raise UserError if it cannot be used."""
    told = await server_account(inquiry.endpoint)
    prompts = [inquiry.template.answer_prompt([user(question)]) for question in QUESTIONS]
    try:
        way = await inquiry.dialect()
        way = way._replace(scores_by=await inquiry.scores_by(way))
        greedy = [await inquiry.written(prompt, way) for prompt in prompts]
        texts = prompts if way.scores_by else []
        scored = [round(one, DIGITS) for text in texts for one in await inquiry.scores(text, way)]
        completions = [
            await inquiry.written(prompts[1], way, temperature=1.0, seed=seed)
            for seed in (SEEDS[0], SEEDS[0], SEEDS[1])
        ]
        narrow = await inquiry.written(prompts[1], way, temperature=1.0, top_k=1, seed=SEEDS[0])
    except (ReplyError, EndpointError) as error:
        raise UserError(f"the server '{inquiry.endpoint.url}' cannot be used: {error}") from None
    keeps_seeds = completions[0] == completions[1] != completions[2]
    keeps_top_k = narrow == greedy[1]
    return ServerCheck(told, way, keeps_seeds, keeps_top_k, tuple(greedy), tuple(scored))
