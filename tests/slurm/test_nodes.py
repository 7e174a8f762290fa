"""Kinds of nodes, read from what sinfo tells."""

from userturn.slurm.nodes import read_kinds


def test_cards_that_a_node_lists_for_each_socket_are_added_up() -> None:
    (kind,) = read_kinds("gpu|64|512000|gpu:h100:2(S:0),gpu:h100:2(S:1),gpu:a30:1|(null)\n")
    assert (kind.n_gpus("h100"), kind.n_gpus("a30"), kind.n_gpus()) == (4, 1, 5)
