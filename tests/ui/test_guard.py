"""Nobody is let in without the token, from another site or by another name; no page can be used against its owner."""

import http.client
import re

import pytest

from local_page import Person


def test_the_address_with_the_token_gives_a_cookie_that_scripts_and_other_sites_do_not_get(server):
    welcome = Person(server, enter=False).get(f"/?token={server.token}")
    cookie = welcome.headers["set-cookie"].lower()
    assert welcome.status == 200
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert server.token not in welcome.text


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/job/0123456789abcdef", "/nothing"])
@pytest.mark.parametrize("cookie", [None, "propense-{port}=", "propense-{port}=x", "other={token}", "a b;;=", "\xff"])
def test_without_the_right_cookie_every_page_is_refused(server, path, cookie):
    stranger = Person(server, enter=False)
    given = None if cookie is None else cookie.format(port=server.port, token=server.token)
    answer = stranger.get(path, Cookie=given)
    assert answer.status == 403
    assert "Open the address that propense serve has printed" in answer.text


@pytest.mark.parametrize("token", ["", "x", "%00", "{token}x", "{token}%0a", "%F0%9F%98%80"])
def test_a_wrong_token_is_refused_and_gives_no_cookie(server, token):
    answer = Person(server, enter=False).get(f"/?token={token.format(token=server.token)}")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:{port}", "[::1]:{port}", ""]
)
def test_another_host_name_is_refused_even_with_the_token(server, person, host):
    for path in ("/", f"/?token={server.token}"):
        answer = person.get(path, Host=host.format(port=server.port))
        assert answer.status == 421
        assert "set-cookie" not in answer.headers
    assert person.get("/", Host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": None, "Referer": "http://evil.example/127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://[", "Referer": "x"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_form_from_elsewhere_is_refused(server, person, copied, headers):
    headers = {name: value and value.format(port=server.port) for name, value in headers.items()}
    answer = person.post(f"/job/{copied}/delete", headers=headers)
    assert answer.status == 403
    assert person.get(f"/job/{copied}").status == 200


def test_a_form_without_its_token_changes_nothing(person, copied):
    for token in ("", "x", "ÿ"):
        assert person.post(f"/job/{copied}/delete", form_token=token).status == 403
    assert person.get(f"/job/{copied}").status == 200


def test_the_token_of_the_forms_does_not_open_the_door(server, person):
    stranger = Person(server, enter=False)
    assert stranger.get(f"/?token={person.form_token}").status == 403


@pytest.mark.parametrize(
    "path", ["/", "/static/page.css", "/static/page.js", "/nothing", "/job/{job}", "/job/{job}/columns"]
)
def test_every_answer_forbids_foreign_code_frames_guesses_and_copies(person, fitted, path):
    headers = person.get(path.format(job=fitted)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_pages_hold_no_code_and_load_nothing_from_elsewhere(person, fitted):
    for path in ("/", f"/job/{fitted}", f"/job/{fitted}/columns"):
        text = person.get(path).text
        assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|javascript:", text)
        assert not re.findall(r'(?:src|href|action)="(?!/|#|data:,")', text)


def test_the_report_is_shown_in_a_sandbox_that_reaches_nothing(person, fitted):
    answer = person.get(f"/job/{fitted}/report")
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(person, method):
    assert person.ask(method, "/").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/errors.py",
        "/job/..%2f..%2fetc",
        "/job/.new-0123456789abcdef",
        "/job/{job}/files/..%2fjob.json",
        "/job/{job}/files/result.json",
        "/job/{job}/files/%2fetc%2fpasswd",
        "/job/{job}/audits/..",
        "/job/{job}/audits/1%2f..%2f..",
        "/job/{job}/audits/0",
        "/job/{job}/audits/9999999999999999999999",
        "/job/{job}/audits/%D9%A1",
    ],
)
def test_no_address_leads_out_of_its_room(person, fitted, path):
    answer = person.get(path.format(job=fitted))
    assert answer.status == 404


def test_only_this_machine_is_listened_to(server):
    import socket

    mine = [each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {each for each in mine if not each.startswith("127.")}:
        connection = http.client.HTTPConnection(address, server.port, timeout=2)
        with pytest.raises(OSError):  # noqa: PT011
            connection.request("GET", "/")
