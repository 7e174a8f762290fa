"""Replies of providers as their documents show them, and how a question must end.

The texts are shortened; names of fields, their nesting, codes and statuses are the providers'. Read
in November 2026 at:

- OpenAI: github.com/openai/openai-openapi and the types of the openai package; its guide to errors
- Responses API: the same; a model that has only that API cannot be a judge
- Anthropic: platform.claude.com/docs/en/api/openai-sdk and /api/errors
- Gemini: ai.google.dev/gemini-api/docs/openai; errors as in google-gemini/gemini-cli issue 8437,
  continuedev/continue issue 11926, buxuku/SmartSub issue 439
- Azure: learn.microsoft.com/azure/foundry/openai, api-version-lifecycle and content-filter
- OpenRouter: openrouter.ai/docs/api-reference/overview, /errors, /use-cases/usage-accounting
"""

import json
from typing import Any

from tests.support.faults.row import (
    BOUND,
    CUT,
    FREE,
    GOOD,
    NO_CONTENT,
    REFUSED,
    TOO_LONG,
    Bill,
    again,
    chat,
    fails,
    final,
    twice,
    verdict,
)
from tests.support.faults.statuses import error, of
from tests.support.faults.structures import IN_REPLY
from tests.support.judge_server import USAGE, http

OPENAI_USAGE = USAGE | {
    "total_tokens": 940,
    "prompt_tokens_details": {"cached_tokens": 512, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 20, "audio_tokens": 0,
        "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
    },
}  # fmt: skip
SAFE = {"hate": {"filtered": False, "severity": "safe"}}
SEXUAL = {"sexual": {"filtered": True, "severity": "high"}}


def listed(status: int, name: str, message: str, *details: Any) -> bytes:
    """Return an error as Gemini has it: in a list."""
    told = {"code": status, "message": message, "status": name, "details": details}
    return http(status, json.dumps([{"error": told}]).encode())


def whole(usage: Any = OPENAI_USAGE, content: Any = GOOD, **more: Any) -> dict[str, Any]:
    """Return a completion with all fields of OpenAI's schema."""
    body = chat(content, usage=usage, refusal=None, annotations=[])
    body["choices"][0]["logprobs"] = None
    return dict(body) | {"created": 1, "service_tier": "default", "system_fingerprint": None} | more


def in_choice(code: int, **metadata: str) -> Any:
    """Return an upstream's error in a choice, as OpenRouter has it."""
    told = {"code": code, "message": "Provider returned error", "metadata": metadata}
    choice = {"index": 0, "error": told, "finish_reason": "error", "native_finish_reason": "error",
              "message": {"role": "assistant", "content": "", "refusal": None}}  # fmt: skip
    return {"id": "gen-1", "provider": "P", "model": "m", "choices": [choice]}


OPENAI = {
    "a completion": verdict(whole()),
    "a refusal": final(chat(None, usage=OPENAI_USAGE, refusal="I cannot."), REFUSED),
    "reasoning that takes the whole limit": twice(
        chat("", "length", usage=OPENAI_USAGE), CUT
    ),
    "max_tokens for a model that reasons": fails(
        error(400, message="Unsupported parameter: 'max_tokens' is not supported with this model.",
              type="invalid_request_error", param="max_tokens", code="unsupported_parameter"),
        of(400)),
    "too many tokens a minute": again(
        error(429, message="Rate limit reached for m on tokens per min (TPM): Limit 30000, Used "
              "29500, Requested 900. Please try again in 0.01s.", type="tokens", param=None,
              code="rate_limit_exceeded"), of(429), FREE),
    "no credit": fails(
        error(429, message="You exceeded your current quota, please check your plan and billing "
              "details.", type="insufficient_quota", param=None, code="insufficient_quota"),
        of(429)),
    "an input against the policy": final(
        error(400, message="Invalid prompt: your prompt was flagged as potentially violating our "
              "usage policy.", type="invalid_request_error", param=None, code="invalid_prompt"),
        REFUSED, FREE),
    "an object of the Responses API": twice(
        {"id": "resp_1", "object": "response", "status": "completed", "error": None,
         "incomplete_details": None, "model": "m",
         "output": [{"type": "message", "role": "assistant", "status": "completed",
                     "content": [{"type": "output_text", "text": GOOD, "annotations": []}]}],
         "usage": {"input_tokens": 900, "output_tokens": 40, "total_tokens": 940}},
        NO_CONTENT, BOUND),
}  # fmt: skip
ANTHROPIC = {
    "a completion": verdict(
        whole({"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940},
              model="claude-opus-4-6"), Bill(900, 0, 40, 0.0013)),
    "no credit": fails(
        error(400, code="invalid_request_error", message="Your credit balance is too low to access "
              "the Anthropic API. Please go to Plans & Billing."), of(400)),
    "a prompt that is too long": final(
        error(400, code="invalid_request_error",
              message="prompt is too long: 205000 tokens > 200000 maximum"), TOO_LONG, FREE),
}  # fmt: skip
GEMINI = {
    "a completion with thoughts": verdict(
        whole({"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 1_500},
              model="gemini-3-flash-preview"), Bill(900, 0, 600, 0.0069)),
    "thoughts that take the whole limit": twice(
        {"object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "finish_reason": "length", "message": {"role": "assistant"}}],
         "usage": {"prompt_tokens": 900, "completion_tokens": 0, "total_tokens": 1_000}},
        CUT, Bill(900, 0, 100, 0.0019)),
    "a prohibited content": final(
        chat(None, "content_filter: PROHIBITED_CONTENT"), REFUSED),
    "too many requests a minute": again(
        listed(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan "
               "and billing details. Please retry in 0.013s.",
               {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}),
        of(429), FREE),
    "an input that is too long": final(
        listed(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum "
               "number of tokens allowed (1048576)."), TOO_LONG, FREE),
    "an error in a list with status 200": again(
        [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}], IN_REPLY),
}  # fmt: skip
AZURE = {
    "a completion": verdict(
        whole(prompt_filter_results=[{"prompt_index": 0, "content_filter_results": SAFE}])),
    "a prompt that is filtered": final(
        error(400, message="The response was filtered due to the prompt triggering Azure OpenAI's "
              "content management policy.", type=None, param="prompt", code="content_filter",
              status=400, innererror={"code": "ResponsibleAIPolicyViolation",
                                      "content_filter_result": SEXUAL}), REFUSED, FREE),
    "a reply that is filtered": final(
        {"object": "chat.completion", "model": "m", "usage": USAGE, "choices": [
            {"index": 0, "finish_reason": "content_filter", "content_filter_results": SEXUAL,
             "message": {"role": "assistant"}}]}, REFUSED),
    "too many tokens": again(
        error(429, code="429", message="Requests to the ChatCompletions_Create Operation have "
              "exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry "
              "after 0.01 seconds."), of(429), FREE),
}  # fmt: skip
OPENROUTER = {
    "a completion": verdict(
        whole(OPENAI_USAGE | {"cost": 0.95, "cost_details": {"upstream_inference_cost": 19}},
              id="gen-1", provider="OpenAI")),
    "an upstream's error in a choice": again(
        in_choice(502, provider_name="P", raw="upstream"), IN_REPLY),
    "an upstream that is too fast": again(
        {"error": {"code": 429, "message": "Provider returned error"}, "user_id": "u"}, IN_REPLY),
    "an input that was flagged": final(
        error(403, code=403, message="m requires moderation on P. Your input was flagged for "
              "\"violence\".", metadata={"reasons": ["violence"], "flagged_input": "…",
                                         "provider_name": "P", "model_slug": "m"}), REFUSED, FREE),
    "a context that is too long": final(
        error(400, code=400, message="This endpoint's maximum context length is 8192 tokens."),
        TOO_LONG, FREE),
}  # fmt: skip
PROVIDERS = {
    f"{provider}: {name}": row
    for provider, rows in (("OpenAI", OPENAI), ("Anthropic", ANTHROPIC), ("Gemini", GEMINI),
                           ("Azure", AZURE), ("OpenRouter", OPENROUTER))
    for name, row in rows.items()
}  # fmt: skip
