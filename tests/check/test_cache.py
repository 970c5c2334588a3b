"""Fixtures that are built at first use."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import platformdirs
import pytest

from refimpl.check import cache
from refimpl.check.children import package_environment
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
    told = capfd.readouterr().err
    assert "building the fixtures of ropes, once" in told
    assert "there is no 'ropes'" in told
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


def test_what_another_source_built_long_ago_is_removed(root: Path) -> None:
    old, young = root / "0123456789abcdef", root / "fedcba9876543210"
    for folder in (old, young):
        (folder / "all").mkdir(parents=True)
    os.utime(old, (0, 0))
    cache._remove_unused(root)
    assert [path.name for path in root.iterdir()] == [young.name]


def test_two_processes_build_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    built: list[Path] = []

    def build(folder: Path, ops: object) -> None:
        built.append(folder)
        time.sleep(0.3)
        place(folder, generate([CASES["alibi_slopes/six_heads"]], jobs=1).files, verify)

    monkeypatch.setattr(cache, "_build", build)
    threads = [threading.Thread(target=cache.cached, args=(["alibi_slopes"],)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert "waiting for another process that builds fixtures" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
def test_sigterm_ends_the_build(root: Path, tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(
        "import os, platformdirs, sys\n"
        f"platformdirs.user_cache_dir = lambda *args, **options: {str(root)!r}\n"
        "from refimpl.check.cache import cached\n"
        "cached(['attention'])\n"
    )
    checking = subprocess.Popen([sys.executable, script], env=package_environment(), stderr=subprocess.PIPE, text=True)
    assert checking.stderr is not None
    assert checking.stderr.readline().startswith("refimpl: building the fixtures of attention, once, into ")
    children = Path(f"/proc/{checking.pid}/task/{checking.pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.02)
    checking.send_signal(signal.SIGTERM)
    assert checking.wait(60) == 128 + signal.SIGTERM
    checking.stderr.close()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{found[0]}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{found[0]}").exists()
    assert list(root.rglob("MANIFEST.json")) == []
