#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of bazel runs and of reports and prints `N passed, M failed[, K skipped]`.

  tools/dev/count_tests.py BUILD_EVENT_JSON_FILE... JUNIT_XML_FILE...

Exits with 1 if a case failed, or if none ran. A case that was skipped because it found no
sample files counts as failed if MILLHOPPER_TEST_DATA names their folder.
"""

import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections import Counter


def outcome(case):
    """passed, failed, skipped, or None for a case that is switched off."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is not None:
        text = skipped.get("message", "")
        if "MILLHOPPER_TEST_DATA" in text and os.environ.get("MILLHOPPER_TEST_DATA"):
            print(f"FAILED: {case.get('classname')}.{case.get('name')} was skipped: {text}")
            return "failed"
        return "skipped"
    return "passed" if case.get("status") != "notrun" else None


def count_report(path):
    return Counter(outcome(case) for case in ElementTree.parse(path).iter("testcase"))


def count_test(result):
    """Counts the cases of one test file; if its process failed, at least one case failed."""
    reports = [
        urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
        for output in result.get("testActionOutput", [])
        if output["name"] == "test.xml"
    ]
    counts = Counter()
    for report in reports:
        try:
            counts += count_report(report)
        except (OSError, ElementTree.ParseError) as error:
            print(f"FAILED: no report of a test: {error}")
            counts["failed"] += 1
    if result["status"] != "PASSED" and not counts["failed"]:
        counts["failed"] = 1
    return counts


def main():
    counts = Counter()
    for path in sys.argv[1:]:
        if not os.path.exists(path):
            continue
        if path.endswith(".xml"):
            counts += count_report(path)
            continue
        with open(path, encoding="utf-8") as events:
            for line in events:
                event = json.loads(line)
                if "testResult" in event:
                    counts += count_test(event["testResult"])
    if not counts["passed"] and not counts["failed"]:
        print("FAILED: no test ran")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 0 if counts["passed"] and not counts["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
