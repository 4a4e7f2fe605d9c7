"""A person with a browser, without the browser: requests to a running `propense serve`."""

import html
import http.client
import json
import re
import time
import uuid
from urllib.parse import urlencode


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        self.text = self.body.decode("utf-8", "replace")
        self.words = html.unescape(re.sub(r"<[^>]*>", " ", self.text))

    @property
    def error(self):
        """The one line that says what is wrong."""
        found = re.findall(r'<p ([^>]*class="error"[^>]*)>([^<]+)</p>', self.text)
        shown = [html.unescape(words) for attributes, words in found if "hidden" not in attributes.split()]
        return shown[0] if shown else ""


class Person:
    """Keeps the cookie and the token of the forms, as the pages do; `follow` goes where a form leads."""

    def __init__(self, server, *, enter=True):
        self.port, self.origin = server.port, f"http://127.0.0.1:{server.port}"
        self.cookie = self.form_token = None
        if enter:
            welcome = self.ask("GET", f"/?token={server.token}")
            self.cookie = welcome.headers["set-cookie"].split(";")[0]
            self.form_token = re.search(r'name="form_token" value="(\w+)"', self.get("/").text)[1]

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        given = {"Host": f"127.0.0.1:{self.port}", **({"Cookie": self.cookie} if self.cookie else {})}
        if method == "POST":
            given["Origin"] = self.origin
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, follow=True, headers=None, **fields):
        body = urlencode({"form_token": self.form_token, **fields})
        answer = self.ask("POST", path, body, Content_Type="application/x-www-form-urlencoded", **(headers or {}))
        return self.get(answer.headers["location"]) if follow and answer.status == 303 else answer

    def upload(self, name, data, **headers):
        """The answer to an upload, with the place that it leads to."""
        mark = uuid.uuid4().hex
        head = f'--{mark}\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n{self.form_token}\r\n--{mark}\r\n'
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        head += f'Content-Disposition: form-data; name="table"; filename="{quoted}"\r\nContent-Type: x/y\r\n\r\n'
        body = head.encode("utf-8", "surrogatepass") + data + f"\r\n--{mark}--\r\n".encode()
        return self.ask("POST", "/upload", body, Content_Type=f"multipart/form-data; boundary={mark}", **headers)

    def job_of(self, answer):
        assert answer.status == 303, answer.error or answer.words
        return answer.headers["location"].split("/")[2]

    def wait(self, address, seconds=600):
        """The state in which work ends."""
        until = time.monotonic() + seconds
        while (now := json.loads(self.get(f"{address}/status").body))["state"] in ("queued", "running"):
            assert time.monotonic() < until, now
            time.sleep(0.05)
        return now
