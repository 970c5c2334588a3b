"""Fixtures that are built at first use."""

from pathlib import Path

import platformdirs
import pytest

from refimpl.check import cache
from refimpl.check.command import open_pack
from refimpl.fixtures.build import generate
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.errors import FixtureError
from refimpl.fixtures.place import place
from refimpl.fixtures.verify import verify


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *args, **options: str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_is_built_once_and_again_where_it_is_damaged(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = open_pack(None, ["alibi_slopes"])
    assert {case.op for case in pack.cases} == {"alibi_slopes"}
    assert len(pack.cases) == sum(case.op == "alibi_slopes" for case in CASES.values())
    assert pack.root == root / cache.source_digest()[:16] / "alibi_slopes"
    assert [path.name for path in pack.root.parent.iterdir()] == ["alibi_slopes"]

    built: list[Path] = []
    monkeypatch.setattr(cache, "_build", lambda folder, ops: built.append(folder))
    assert cache.cached(["alibi_slopes", "alibi_slopes"]) == pack.root
    assert built == []
    (pack.root / "cases/alibi_slopes/six_heads.json").write_text("{}")
    cache.cached(["alibi_slopes"])
    assert built == [pack.root]


def test_a_whole_pack_serves_any_op(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = root / cache.source_digest()[:16] / "all"
    place(whole, generate([CASES["alibi_slopes/six_heads"], CASES["dropout/p_tenth"]], jobs=1).files, verify)
    monkeypatch.setattr(cache, "_build", lambda folder, ops: pytest.fail("built again"))
    assert cache.cached() == cache.cached(["dropout"]) == whole
    assert [case.op for case in open_pack(None, ["dropout"]).cases] == ["dropout"]


def test_a_failed_build_leaves_nothing_and_is_told(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FixtureError, match="not built, `refimpl build` ended with status 2"):
        cache._build(root / "folder", ["ropes"])
    assert "ropes" in capfd.readouterr().err
    assert not root.exists()


def test_other_source_has_another_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in (("ops.py", "x = 1"), ("fixtures/schema/case.json", "{}"), ("check/run.py", "y = 1")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    before = cache.source_digest()
    (tmp_path / "check/run.py").write_text("y = 2")
    assert cache.source_digest() == before
    (tmp_path / "fixtures/schema/case.json").write_text("[]")
    changed = cache.source_digest()
    (tmp_path / "fixtures/schema/case.json").rename(tmp_path / "fixtures/schema/other.json")
    assert len({before, changed, cache.source_digest()}) == 3
