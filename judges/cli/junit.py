"""What a gate found, as JUnit XML: the form of test reports that continuous integration reads."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from judges.errors import InputError
from judges.gate import GateResult
from judges.printable import printable

__all__ = ["junit", "write_junit"]

_BEGIN = b"<?xml"


def junit(name: str, results: Sequence[GateResult], *, strict: bool) -> bytes:
    """A report with a test for each requirement: one that is undecided is skipped, or has failed if `strict`.

    Args:
        name: Of the suite.
        results: What came of each requirement.
        strict: Whether what is undecided counts as failed.
    """
    failed = [each for each in results if each.status == "FAIL" or (strict and each.status == "UNDECIDED")]
    withheld = [each for each in results if each.withheld and each not in failed]
    skipped = [each for each in results if each.status == "UNDECIDED" and each not in (*failed, *withheld)]
    counts = {
        "tests": str(len(results)),
        "failures": str(len(failed)),
        "errors": str(len(withheld)),
        "skipped": str(len(skipped)),
        "time": "0",
    }
    root = Element("testsuites", counts)
    suite = SubElement(root, "testsuite", {"name": printable(name), **counts})
    for each in results:
        names = {"classname": "judges.gate", "name": printable(str(each.requirement)), "time": "0"}
        test = SubElement(suite, "testcase", names)
        value = "no value" if each.figure.value is None else f"{each.figure.value:.4g}"
        message = printable(f"{each.status}: {value}; {each.reason}")
        for kind, chosen in (("failure", failed), ("error", withheld), ("skipped", skipped)):
            if each in chosen:
                SubElement(test, kind, {"message": message}).text = message
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def write_junit(path: Path, report: bytes) -> None:
    """Write a report; one of an earlier time is replaced.

    Raises:
        InputError: It can't be written, or the file holds something else.
    """
    try:
        if path.exists() and path.read_bytes()[: len(_BEGIN)] not in (b"", _BEGIN):
            raise InputError(f"{path}: holds something else than XML; choose another file with --junit")
        path.write_bytes(report)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; choose another file with --junit") from error
