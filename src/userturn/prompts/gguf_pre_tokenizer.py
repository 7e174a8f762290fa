"""Read and repair what transformers loses of a GGUF file's tokenizer: its pre-tokenizer.

llama.cpp names it (`tokenizer.ggml.pre`); transformers goes by the architecture alone, and so reads
a Llama whose digits stand apart as one whose digits do not.
"""

from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.storage.files import written_whole

NOTE = "ggml_pre.txt"  # beside the converted model
BPE = "gpt2"  # tokenizers of other kinds have no pre-tokenizer
# Names of llama.cpp's `llm_load_vocab` for what transformers makes of the architecture.
AS_READ = {"default", "gpt-2", "llama-bpe", "llama3", "llama-v3", "qwen2", "mpt", "olmo", "phi-2"}
# Each digit by itself, then as in GPT-2.
DIGITS_APART = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}


def note_pre_tokenizer(gguf: Path, folder: Path) -> None:
    """Write the name of a GGUF file's pre-tokenizer beside its converted model, once.

    Raises:
        UserError: nothing is known of a pre-tokenizer of that name.
    """
    if (folder / NOTE).is_file():
        return
    from gguf import GGUFReader

    fields = GGUFReader(gguf).fields
    kind, pre = (_text(fields, f"tokenizer.ggml.{name}") for name in ("model", "pre"))
    if kind == BPE and pre not in AS_READ | DIGITS_APART | {None}:
        raise UserError(
            f"'{gguf}' has the pre-tokenizer '{pre}', which transformers does not read, so its "
            "token ids would differ from the vendor's; name the original model in the config"
        )
    with written_whole(folder / NOTE) as temporary:
        temporary.write_text(pre if kind == BPE and pre else "")


def _text(fields: Any, name: str) -> str | None:
    return str(fields[name].contents()) if name in fields else None


def repair(tokenizer: Any, folder: Path) -> None:
    """Give a tokenizer the pre-tokenizer noted beside its model, where transformers lost it."""
    note = folder / NOTE
    if not note.is_file() or note.read_text() not in DIGITS_APART:
        return
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    apart = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(apart)
