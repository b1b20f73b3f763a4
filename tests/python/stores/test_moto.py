# SPDX-License-Identifier: Apache-2.0
"""Files in moto's S3, which checks signatures and rights, and with faults between.

Debian has no moto: tools/dev/check_s3 runs these tests with that of PyPI.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import until
from fault_proxy import LIES, PASSING, FaultProxy
from record_files import BIN, write_record_files
from remote_files import (
    STAYING,
    RemoteFiles,
    check_that_it_is_said,
    check_that_it_is_written,
    check_that_it_passes,
)

pytest.importorskip("moto")
boto3 = pytest.importorskip("boto3")

REGION = "eu-north-1"
ODD_NAME = "a b+c%20\u00fc?#=&.txt"
# What the user may do: nothing with what begins with "others/", and write what begins with
# "written/" or "saved/".
RIGHTS = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
            "Resource": ["arn:aws:s3:::bucket/written/*", "arn:aws:s3:::bucket/saved/*"],
        },
        {
            "Effect": "Deny",
            "Action": "s3:GetObject",
            "Resource": "arn:aws:s3:::bucket/others/*",
        },
    ],
}
# Nothing that this process knows of AWS.
NOBODY = {name: "" for name in os.environ if name.startswith("AWS_")}


def as_user(key: str, secret: str, token: str = "") -> dict[str, str]:
    """What says in the environment who asks."""
    return {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_SESSION_TOKEN": token,
    }


@dataclass
class Moto(RemoteFiles):
    role: dict[str, str] = field(default_factory=dict)  # the environment of a user for an hour

    def url(self, name: str) -> str:
        return f"s3://bucket/{name}"

    def behind(self, proxy: FaultProxy) -> RemoteFiles:
        endpoint = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
        return replace(self, environment={**self.environment, **endpoint})


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def let_pass(port: int, requests: int) -> None:
    """The next requests are not checked."""
    said = urllib.request.Request(f"http://127.0.0.1:{port}/moto-api/reset-auth")
    said.data = b"%d" % requests
    said.add_header("Content-Type", "text/plain")
    urllib.request.urlopen(said).close()


def fill(folder: Path, endpoint: str) -> tuple[dict[str, str], dict[str, str]]:
    """Makes the bucket, a user and a role; returns the environments of the two."""

    def client(service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=endpoint,
            region_name=REGION,
            aws_access_key_id="maker",
            aws_secret_access_key="maker",
        )

    s3, iam = client("s3"), client("iam")
    s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": REGION})
    for path in folder.iterdir():
        with open(path, "rb") as content:
            s3.put_object(Bucket="bucket", Key=path.name, Body=content)
    for key in (ODD_NAME, "others/a.txt", *(f"many/{i}.txt" for i in range(25))):
        s3.put_object(Bucket="bucket", Key=key, Body=f"{key}\n".encode())
    iam.create_user(UserName="reader")
    rights = json.dumps(RIGHTS)
    iam.put_user_policy(UserName="reader", PolicyName="rights", PolicyDocument=rights)
    user = iam.create_access_key(UserName="reader")["AccessKey"]
    role = iam.create_role(RoleName="role", AssumeRolePolicyDocument=rights)["Role"]["Arn"]
    iam.put_role_policy(RoleName="role", PolicyName="rights", PolicyDocument=rights)
    assumed = client("sts").assume_role(RoleArn=role, RoleSessionName="session")["Credentials"]
    return (
        as_user(user["AccessKeyId"], user["SecretAccessKey"]),
        as_user(assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"]),
    )


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    folder = tmp_path_factory.mktemp("moto")
    (folder / "files").mkdir()
    (folder / "home").mkdir()
    write_record_files(folder / "files")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    # Until it is told to check, it lets anybody do anything.
    environment = {
        **os.environ,
        "INITIAL_NO_AUTH_ACTION_COUNT": "1000",
        "MOTO_S3_DEFAULT_MAX_KEYS": "10",
        "MOTO_ALLOW_NONEXISTENT_REGION": "true",
    }
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", str(port)],
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: answers(port))
        endpoint = f"http://127.0.0.1:{port}"
        user, role = fill(folder / "files", endpoint)
        let_pass(port, 0)
        settings = {
            **NOBODY,
            "HOME": str(folder / "home"),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": REGION,
            "no_proxy": "127.0.0.1",
        }
        yield Moto(folder / "files", port, {**settings, **user}, role)
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
def unchecked(moto: Moto) -> Iterator[None]:
    """For requests whose URL has a %: moto 5.2 decodes it before it checks the signature, and so
    refuses even those of boto3. Of such requests, s3_judge.h checks the signatures."""
    let_pass(moto.port, 1000)
    yield
    let_pass(moto.port, 0)


FORMATS = ["lines.recordio", "rows.csv", "records.tfrecord", "samples.tar"]


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("name", FORMATS)
def test_records_of_every_format_come_once(moto: Moto, name: str, threads: int) -> None:
    moto.check_whole(name, moto.url(name), f"--threads={threads}")


@pytest.mark.usefixtures("unchecked")
def test_patterns_are_listed_page_by_page(moto: Moto, tmp_path: Path) -> None:
    for i in range(25):
        (tmp_path / f"{i}.txt").write_text(f"many/{i}.txt\n")
    local, remote = moto.peek(f"{tmp_path}/*.txt"), moto.peek(moto.url("many/*.txt"))
    assert remote.returncode == 0, remote.stderr
    assert local.stdout == remote.stdout
    assert len(remote.stdout.splitlines()) == 26


@pytest.mark.usefixtures("unchecked")
def test_names_may_have_any_characters(moto: Moto, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{ODD_NAME}\n")
    remote = moto.peek(f"text:{moto.url(ODD_NAME)}")
    assert remote.stdout == moto.peek(str(tmp_path / "a.txt")).stdout, remote.stderr


def test_a_role_reads_with_its_token(moto: Moto) -> None:
    moto.check_whole("rows.csv", moto.url("rows.csv"), **moto.role)
    wrong = {**moto.role, "AWS_SESSION_TOKEN": "hidden"}
    assert "the server said 'HTTP/1.1 4" in moto.refusal(moto.url("rows.csv"), **wrong)


def test_wrong_keys_are_refused(moto: Moto) -> None:
    key = moto.environment["AWS_ACCESS_KEY_ID"]
    for user, words in (
        (as_user(key, "hidden"), r" \(SignatureDoesNotMatch: "),
        (as_user("hidden-key", "hidden"), r" \(InvalidAccessKeyId: "),
        ({**as_user("", ""), "AWS_NO_SIGN_REQUEST": "true"}, ""),  # moto says nothing more
    ):
        said = moto.refusal(moto.url("rows.csv"), **user)
        assert moto.url("rows.csv") in said
        assert re.search(rf"the server said 'HTTP/1.[01] 403 \w+'{words}", said), said
        assert moto.environment["AWS_SECRET_ACCESS_KEY"] not in said


def test_what_a_user_may_not_read_is_refused(moto: Moto) -> None:
    assert "(AccessDenied: " in moto.refusal(moto.url("others/a.txt"))
    assert "(NoSuchKey: " in moto.refusal(moto.url("none.txt"))
    assert "(NoSuchBucket: " in moto.refusal("s3://none/a.txt")


def test_records_and_checkpoints_are_written(moto: Moto) -> None:
    check_that_it_is_written(moto)
    refused = subprocess.run(
        [BIN / "recordio", "write", "--output=s3://bucket/other", moto.folder / "lines.txt"],
        capture_output=True,
        text=True,
        env={**os.environ, **moto.environment},
    )
    assert "s3://bucket/other: cannot write: the server said" in refused.stderr
    assert "(AccessDenied: " in refused.stderr


@pytest.mark.parametrize("trouble", PASSING)
def test_what_passes_is_tried_again(moto: Moto, trouble: str) -> None:
    check_that_it_passes(moto, trouble)


@pytest.mark.parametrize("trouble", [*STAYING, *LIES])
def test_what_stays_is_said(moto: Moto, trouble: str) -> None:
    check_that_it_is_said(moto, trouble)
