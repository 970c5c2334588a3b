"""A seeded sample of the confusion table: `make confusion` makes the whole."""

from refimpl.fixtures.read import LoadedCase
from tests.check.confusion import TARGET, below, recognised, table, trial, trials

PROFILES = ["f64", "f32", "bf16", "f16"]


def test_a_sample_of_known_mistakes_is_called_by_name(loaded: dict[str, LoadedCase]) -> None:
    cases = [case for case in loaded.values() if case.op not in ("attention", "sinusoidal")]
    found = list(trials(cases, PROFILES, share=0.25))
    assert len(found) > 20
    assert recognised(found) >= TARGET, "\n".join(below(found))


def test_the_table_counts_what_is_not_recognised(loaded: dict[str, LoadedCase]) -> None:
    right = trial(loaded["rope/interleaved"], "f32", "rope.conjugate")
    assert right.called == "named"
    elsewhere = trial(loaded["rope/interleaved"], "f32", "alibi.sign")  # not of this op: all is right
    assert elsewhere.called == "not seen"
    wrong = elsewhere._replace(called="another name", instead="rope.layout_mixed")
    *_, total = table([right, elsewhere, wrong, right])
    assert total.split() == ["all", "4", "2", "0", "1", "0", "1", "50.0%"]
    assert below([right, wrong]) == [
        "alibi.sign: 0% of 1",
        "    rope/interleaved f32: another name: rope.layout_mixed",
    ]
