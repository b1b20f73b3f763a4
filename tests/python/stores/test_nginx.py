# SPDX-License-Identifier: Apache-2.0
"""Files on nginx, as people configure it, and with a network between that fails and lies."""

from __future__ import annotations

import getpass
import grp
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import run_python, until
from fault_proxy import LIES, PASSING
from record_files import write_record_files
from remote_files import (
    STAYING,
    RemoteFiles,
    check_that_a_stop_does_not_wait,
    check_that_it_is_said,
    check_that_it_passes,
)

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
if NGINX is None:
    pytest.skip("nginx is not installed (apt-get install nginx)", allow_module_level=True)

CONFIG = """
daemon off; worker_processes 2; user {user}; pid {folder}/nginx.pid;
events {{ worker_connections 512; }}
http {{
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  sendfile on;
  types {{ text/csv csv; }}
  log_format requests '$connection $status $body_bytes_sent $request_uri $http_range';
  access_log {folder}/requests.log requests;
  limit_conn_zone $server_port zone=connections:1m;
  limit_req_zone $server_port zone=requests:1m rate=20r/s;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{tls_port} ssl;
    ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
    root {folder}/files;
    location /slow/ {{ alias {folder}/files/; limit_rate 4m; }}
    location /hasty/ {{ alias {folder}/files/; keepalive_requests 2; }}
    location /few/ {{ alias {folder}/files/; limit_rate 8m; limit_conn connections 2; }}
    location /rare/ {{ alias {folder}/files/; limit_req zone=requests; limit_req_status 429; }}
    location /gzip/ {{ alias {folder}/files/; gzip on; gzip_types text/csv; gzip_min_length 1; }}
    location /packed/ {{ alias {folder}/files/; gzip_static always; }}
    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
    location /closed/ {{ return 503; }}
    location /later/ {{ add_header Retry-After 100000 always; return 429; }}
    location /private/ {{
      alias {folder}/files/; auth_basic files; auth_basic_user_file {folder}/users;
    }}
  }}
}}
"""

FORMATS = ["lines.recordio", "rows.csv", "records.tfrecord", "samples.tar"]


@dataclass
class Nginx(RemoteFiles):
    tls_port: int = 0

    def answers(self, path: str) -> list[list[str]]:
        """Connection, status, bytes of the body, path and range of what was asked with a path."""
        log = (self.folder.parent / "requests.log").read_text()
        return [line.split(" ", 4) for line in log.splitlines() if f" /{path} " in line]


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "files").mkdir()
    write_record_files(folder / "files")
    with open(folder / "files" / "large", "wb") as zeros:
        zeros.truncate(256 << 20)
    (folder / "users").write_text("me:{PLAIN}hidden\n")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
        + ["-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        check=True,
        capture_output=True,
    )
    # nginx takes over the sockets that NGINX names, as one that replaces another does: no other
    # process can get their ports in between. It expects that they never block: of two workers that
    # wake for one connection the second would wait in accept() and answer no one meanwhile.
    with (
        socket.create_server(("127.0.0.1", 0), backlog=511) as plain,
        socket.create_server(("127.0.0.1", 0), backlog=511) as tls,
    ):
        plain.setblocking(False)
        tls.setblocking(False)
        server = Nginx(folder / "files", plain.getsockname()[1])
        server.tls_port = tls.getsockname()[1]
        (folder / "nginx.conf").write_text(
            CONFIG.format(
                folder=folder,
                user=f"{getpass.getuser()} {grp.getgrgid(os.getgid()).gr_name}",
                port=server.port,
                tls_port=server.tls_port,
            )
        )
        process = subprocess.Popen(
            [NGINX, "-e", folder / "errors.log", "-c", folder / "nginx.conf"],
            env={**os.environ, "NGINX": f"{plain.fileno()};{tls.fileno()};"},
            pass_fds=[plain.fileno(), tls.fileno()],
            stderr=subprocess.PIPE,
            text=True,
        )
    yield server
    process.terminate()
    _, said = process.communicate(timeout=10)
    assert process.returncode == 0, said + (folder / "errors.log").read_text()


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("name", FORMATS)
def test_records_of_every_format_come_once(nginx: Nginx, name: str, threads: int) -> None:
    nginx.check_whole(name, nginx.url(name), f"--threads={threads}")


def test_names_have_braces_but_no_wildcards(nginx: Nginx) -> None:
    names = "{lines.recordio,lines.recordio}"
    nginx.check_whole(names, nginx.url(names), "--threads=7")
    assert "a server does not list its files" in nginx.refusal(nginx.url("*.recordio"))


def test_parts_come_by_connections_that_are_kept(nginx: Nginx) -> None:
    path = "samples.tar?kept"
    nginx.check_whole("samples.tar", nginx.url(path), "--requests=1")
    size = (nginx.folder / "samples.tar").stat().st_size
    # A request is written down a little after the reader has its answer.
    until(lambda: sum(int(bytes) for _, _, bytes, *_ in nginx.answers(path)) >= size)
    answers = nginx.answers(path)
    assert len(answers) > 2
    assert {status for _, status, *_ in answers} == {"206"}
    assert len({connection for connection, *_ in answers}) == 1
    assert all(re.fullmatch(r"bytes=\d+-\d+", asked) for *_, asked in answers)


@pytest.mark.parametrize("place", ["slow", "hasty", "few", "rare", "gzip", "moved"])
def test_what_servers_limit_takes_time_only(nginx: Nginx, place: str) -> None:
    nginx.check_whole("rows.csv", nginx.url(f"{place}/rows.csv"), "--threads=7")


def test_what_comes_compressed_is_refused(nginx: Nginx) -> None:
    subprocess.run(["gzip", "--keep", nginx.folder / "rows.csv"], check=True)
    said = nginx.refusal(nginx.url("packed/rows.csv"))
    assert "the server sends it compressed (Content-Encoding: 'gzip')" in said
    nginx.check_whole("rows.csv", nginx.url("rows.csv.gz"))


def test_refusals_have_the_words_of_the_server(nginx: Nginx) -> None:
    for path, words in (
        ("none.csv", "404 Not Found'"),
        ("closed/a.csv", "503 Service Temporarily Unavailable' (4 tries)"),
        ("later/a.csv", "429 Too Many Requests' and asked for a pause of 100000000 ms"),
    ):
        said = nginx.refusal(nginx.url(path))
        assert nginx.url(path) in said
        assert f"the server said 'HTTP/1.1 {words}" in said


def test_passwords_are_sent_and_never_shown(nginx: Nginx, tmp_path: Path) -> None:
    url = nginx.url("private/rows.csv")
    assert "the server said 'HTTP/1.1 401 Unauthorized'" in nginx.refusal(url)
    assert "401" in nginx.refusal(url.replace("//", "//me:hidden-too@"))
    nginx.check_whole("rows.csv", url.replace("//", "//me:hidden@"))
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hidden\n")
    nginx.check_whole("rows.csv", url, HOME=str(tmp_path))


def test_certificates_are_checked(nginx: Nginx) -> None:
    url = f"https://127.0.0.1:{nginx.tls_port}/samples.tar"
    assert "certificate" in nginx.refusal(url)
    certificate = str(nginx.folder.parent / "certificate.pem")
    nginx.check_whole("samples.tar", url, "--threads=7", CURL_CA_BUNDLE=certificate)


REPLACED = """
import os, sys
import millhopper
url, file = sys.argv[1:]
rows = iter(millhopper.Reader.open_files("fixed:" + url, slots={"row": ("uint8", [1, 2**20])}))
next(rows)
os.replace(file + ".new", file)
try:
    print(sum(1 for _ in rows))
except millhopper.Error as error:
    print(error)
"""


def test_a_file_that_is_replaced_is_an_error(nginx: Nginx) -> None:
    for name, seconds in (("zeros", 1), ("zeros.new", 2)):
        with open(nginx.folder / name, "wb") as zeros:
            zeros.truncate(64 << 20)
        os.utime(nginx.folder / name, (seconds, seconds))
    url = nginx.url("zeros")
    said = run_python(REPLACED, url, str(nginx.folder / "zeros")).stdout
    assert re.match(re.escape(url) + r": cannot read bytes \d+-\d+: ", said), said
    assert "the object was replaced after it was opened" in said


@pytest.mark.parametrize("trouble", PASSING)
def test_what_passes_is_tried_again(nginx: Nginx, trouble: str) -> None:
    check_that_it_passes(nginx, trouble)


@pytest.mark.parametrize("trouble", [*STAYING, *LIES])
def test_what_stays_is_said(nginx: Nginx, trouble: str) -> None:
    check_that_it_is_said(nginx, trouble)


def test_a_stop_does_not_wait_for_requests(nginx: Nginx) -> None:
    check_that_a_stop_does_not_wait(nginx)
