"""A BERT small enough to make on the fly: random weights, words as tokens."""

from pathlib import Path

WORDS = ["why", "how", "many", "apples", "are", "left", "and", "pears", "when", "thanks", "?", "."]


def write_tiny_encoder(folder: Path) -> Path:
    """Write a two-layer BERT and its tokenizer, as `save_pretrained` does."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    return folder
