"""The report as JUnit XML, as GitHub, GitLab and Jenkins read it: a suite an op, a test a case in a profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET

from .causes import cause, failures
from .report import plain
from .verdict import Verdict, claimed

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2
SKIPPED = ("unsupported", "known failure")


def junit(verdicts: Sequence[Verdict], *, title: str, strict: bool = False, breaches: Sequence[str] = ()) -> bytes:
    """Return the XML of all that was asked about. A breach in no case in particular is a test of its own."""
    root = ET.Element("testsuites", name=_clean(title))
    for op, group in groupby(claimed(verdicts), key=lambda v: v.op):
        suite = ET.SubElement(root, "testsuite", name=op)
        some = list(group)
        failed = {(v.id, v.profile) for v in failures(some, strict)}
        for v in some:
            _test(suite, v, (v.id, v.profile) in failed)
    if breaches:
        suite = ET.SubElement(root, "testsuite", name="protocol")
        test = ET.SubElement(suite, "testcase", classname="refimpl.protocol", name="protocol")
        _outcome(test, "error", "protocol broken", "\n".join(breaches))
    for suite in root:
        _count(suite, [suite])
    _count(root, list(root))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _test(suite: ET.Element, v: Verdict, failed: bool) -> None:
    test = ET.SubElement(suite, "testcase", classname=f"refimpl.{v.op}", name=f"{v.id}-{v.profile}")
    if failed:
        why = cause(v)
        kind = "failure" if v.answer.status in ("ok", "unsupported") else "error"
        _outcome(test, kind, f"{why.name}{f': {why.remark}' if why.remark else ''}", plain(v))
    elif v.status in SKIPPED:
        reason = v.claim or v.answer.detail
        _outcome(test, "skipped", f"{v.status}{f': {reason}' if reason else ''}", "")


def _outcome(test: ET.Element, kind: str, message: str, text: str) -> None:
    outcome = ET.SubElement(test, kind, message=_clean(message))
    if kind != "skipped":
        outcome.set("type", _clean(message.partition(":")[0]))
        outcome.text = _clean(text)


def _count(element: ET.Element, suites: Sequence[ET.Element]) -> None:
    for name, path in (
        ("tests", "testcase"),
        ("failures", "*/failure"),
        ("errors", "*/error"),
        ("skipped", "*/skipped"),
    ):
        element.set(name, str(sum(len(suite.findall(path)) for suite in suites)))


def _clean(text: str) -> str:
    """Return the text without characters that no XML file may hold."""
    return NOT_XML.sub("\ufffd", text)
