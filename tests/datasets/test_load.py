"""Data sets by name: from the data home, from a server that stands in for OpenML, and refused when they are wrong."""

import gzip
import hashlib
import importlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.datasets import _openml, load_breast_cancer

from conftest import data_home
from propense.datasets import CATALOGUE, describe, load, names, tabular
from propense.datasets.images import SHAPES, embed, fetch_features, read_features, read_pixels
from propense.datasets.tabular import read_table, write_table
from propense.errors import DatasetMismatch, DownloadFailed, InvalidOption, MissingExtra


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty data home."""
    monkeypatch.setenv("PROPENSE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


class OpenML:
    """A server that answers as OpenML does, for one table; the first `failures` requests for the file are refused."""

    def __init__(self, arff, failures=0):
        self.requests = []
        self.left = failures
        self.arff = arff
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                body = outer.answer(self.path)
                self.send_response(500 if body is None else 200)
                self.end_headers()
                if body is not None:
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def answer(self, path):
        if path == "/file":
            self.left -= 1
            return None if self.left >= 0 else self.arff
        kind = path.split("/")[1]
        if kind == "info":
            about = {
                "id": "43",
                "name": "a table",
                "description": "made up",
                "version": "1",
                "format": "ARFF",
                "status": "active",
                "url": self.address + "/file",
                "file_id": "1",
                "md5_checksum": hashlib.md5(self.arff).hexdigest(),
            }
            return json.dumps({"data_set_description": about}).encode()
        if kind == "features":
            lines = [line.split() for line in self.arff.decode().splitlines() if line.lower().startswith("@attribute")]
            features = [
                {
                    "index": str(i),
                    "name": name,
                    "data_type": "nominal" if kind.startswith("{") else "numeric",
                    "is_target": "true" if name == "class" else "false",
                    "is_ignore": "false",
                    "is_row_identifier": "false",
                    "number_of_missing_values": "0",
                }
                for i, (_, name, kind) in enumerate(lines)
            ]
            return json.dumps({"data_features": {"feature": features}}).encode()
        return json.dumps({"data_qualities": {"quality": []}}).encode()


@pytest.fixture
def serve(monkeypatch):
    """Start a server and send scikit-learn to it instead of OpenML."""
    if hasattr(_openml, "_OPENML_PREFIX"):
        pytest.skip("the server answers as scikit-learn 1.7 and later ask")
    servers = []

    def start(arff, failures=0):
        server = OpenML(arff.encode(), failures)
        servers.append(server)
        monkeypatch.setattr(_openml, "_DATA_INFO", server.address + "/info/{}")
        monkeypatch.setattr(_openml, "_DATA_FEATURES", server.address + "/features/{}")
        monkeypatch.setattr(_openml, "_DATA_QUALITIES", server.address + "/qualities/{}")
        monkeypatch.setattr(tabular, "_DELAY", 0.01)
        return server

    yield start
    for server in servers:
        server.server.shutdown()
        server.server.server_close()


def arff_table(X, classes):
    """An ARFF file with numeric columns f0, f1, … and a class."""
    names = sorted(set(classes))
    lines = ["@relation r", *[f"@attribute f{i} numeric" for i in range(X.shape[1])]]
    lines += [f"@attribute class {{{','.join(names)}}}", "@data"]
    lines += [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), classes, strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def haberman(rng):
    """A table of Haberman's size, 81 of 306 rows of class 2."""
    X = np.round(rng.normal(size=(306, 3)) * 20)
    return X, ["2"] * 81 + ["1"] * 225


def test_the_catalogue_is_the_papers_table():
    home = data_home()
    if home is None or not (home.parent / "paper" / "datasets.csv").exists():
        pytest.skip("the paper's table is not on this machine")
    rows = [line.split(",") for line in (home.parent / "paper" / "datasets.csv").read_text().splitlines()[1:]]
    assert [entry.title for entry in CATALOGUE.values()] == [row[0] for row in rows]
    for entry, row in zip(CATALOGUE.values(), rows, strict=True):
        assert (entry.n, entry.p, entry.positives) == (int(row[1]), int(row[2]), int(row[4]))
        assert entry.images == (row[5] == "images")


def test_names_and_descriptions():
    assert len(names()) == 20
    assert all(describe(name).name == name == name.lower() for name in names())
    assert all(entry.licence and entry.citation and entry.rule and entry.positive for entry in CATALOGUE.values())
    assert {entry.scaling for entry in CATALOGUE.values()} == {"min-max", "z-score", "raw"}
    assert {name for name in names() if CATALOGUE[name].images} == set(SHAPES)
    with pytest.raises(InvalidOption, match=r"no data set 'iris'. Choose from: breast-w"):
        describe("iris")


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_set_of_the_data_home_is_what_the_catalogue_says(name, monkeypatch):
    if data_home() is None:
        pytest.skip("the data home is not on this machine")
    monkeypatch.setenv("PROPENSE_DATA", str(data_home()))
    data, entry = load(name, download=False), CATALOGUE[name]
    train = np.ones(len(data.y), dtype=bool) if data.test is None else ~data.test
    assert (train.sum(), data.y[train].sum()) == (entry.n, entry.positives)
    assert data.X.shape == (len(data.y), len(data.columns))
    assert np.isnan(data.X).sum() == (16 if name == "breast-w" else 0)


def test_wdbc_needs_no_file(home):
    data = load("wdbc", download=False)
    np.testing.assert_array_equal(data.X, load_breast_cancer().data)
    np.testing.assert_array_equal(data.y, load_breast_cancer().target == 0)


def test_a_table_is_fetched_once_and_kept(home, serve, haberman):
    X, classes = haberman
    server = serve(arff_table(X, classes))
    seen = []
    data = load("haberman", progress=seen.append)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, np.arange(306) < 81)
    assert seen[-1] > 0
    assert seen == sorted(seen)
    asked = len(server.requests)
    again = load("haberman")
    np.testing.assert_array_equal(again.X, X)
    assert len(server.requests) == asked
    assert [path.name for path in (home / "tabular").iterdir()] == ["haberman.csv.gz"]


def test_a_refused_request_is_tried_again(home, serve, haberman):
    server = serve(arff_table(*haberman), failures=2)
    with pytest.warns(UserWarning, match="Retrying"):
        assert load("haberman").X.shape == (306, 3)
    assert server.requests.count("/file") >= 3


@pytest.mark.filterwarnings("ignore:A network error occurred")
def test_a_server_that_never_answers_is_one_clear_error(home, serve, haberman):
    serve(arff_table(*haberman), failures=99)
    with pytest.raises(DownloadFailed, match=r"haberman \(OpenML 43\) could not be downloaded.*PROPENSE_DATA"):
        load("haberman")
    assert not list(home.rglob("*.gz"))


def test_without_leave_to_download_nothing_is_asked(home, serve, haberman):
    server = serve(arff_table(*haberman))
    with pytest.raises(DownloadFailed, match="haberman is not in the data home"):
        load("haberman", download=False)
    assert server.requests == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X, y: (X[:-1], y[:-1]), "305 rows where the catalogue says 306"),
        (lambda X, y: (X[:, :2], y), "2 columns where the catalogue says 3"),
        (lambda X, y: (X, ["2"] * 82 + ["1"] * 224), "82 positives where the catalogue says 81"),
    ],
)
def test_a_table_that_does_not_match_is_not_kept(home, serve, haberman, spoil, words):
    serve(arff_table(*spoil(*haberman)))
    with pytest.raises(DatasetMismatch, match=f"haberman has {words}.*was not kept"):
        load("haberman")
    assert not list(home.rglob("*.gz"))


@pytest.mark.slow
def test_columns_that_are_no_features_are_dropped(home, serve, rng):
    X = np.column_stack([np.arange(6598), np.zeros((6598, 166))])
    arff = arff_table(X, ["1"] * 1017 + ["0"] * 5581).replace("@attribute f0 ", "@attribute ID ")
    serve(arff)
    assert load("musk").X.shape == (6598, 166)


SPOILT = {
    "fewer rows": lambda path, table: write_table(path, (table[0][1:], table[1][1:], table[2])),
    "torn": lambda path, table: path.write_bytes(path.read_bytes()[:200]),
    "foreign": lambda path, table: path.write_bytes(b"hello"),
    "zeroed": lambda path, table: path.write_bytes(path.read_bytes()[:60] + bytes(20) + path.read_bytes()[80:]),
    "no y": lambda path, table: path.write_bytes(gzip.compress(b"a,b\n1,2\n")),
    "words": lambda path, table: path.write_bytes(gzip.compress(b"a,y\nx,1\n")),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_file_is_refused_with_its_name(home, haberman, case):
    path = home / "tabular" / "haberman.csv.gz"
    path.parent.mkdir(parents=True)
    table = (haberman[0], np.arange(306) < 81, ["a", "b", "c"])
    write_table(path, table)
    assert load("haberman").X.shape == (306, 3)
    SPOILT[case](path, table)
    with pytest.raises(DatasetMismatch, match=r"haberman.*[Dd]elete.*fetch again"):
        load("haberman")


def test_a_table_is_read_as_it_was_written(tmp_path, rng):
    X = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-300, 300, size=(20, 3))
    X[3, 1] = np.nan
    table = (X, rng.random(20) < 0.5, ["a", "b, c", 'd "e"'])
    write_table(tmp_path / "t.csv.gz", table)
    X_again, y_again, names_again = read_table(tmp_path / "t.csv.gz")
    np.testing.assert_array_equal(X_again, X)
    np.testing.assert_array_equal(y_again, table[1])
    assert names_again == table[2]


def test_the_users_cache_is_the_home_of_those_who_name_none(tmp_path, monkeypatch, serve, haberman):
    monkeypatch.delenv("PROPENSE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    serve(arff_table(*haberman))
    load("haberman")
    assert (tmp_path / "propense" / "tabular" / "haberman.csv.gz").exists()


def test_ready_features_come_first(home, rng):
    entry = CATALOGUE["usps"]
    path = home / "features" / "usps.npz"
    path.parent.mkdir(parents=True)
    y = np.arange(entry.n) < entry.positives
    X = rng.normal(size=(entry.n, 5)).astype(np.float16)
    np.savez(path, X_train=X, y_train=y, X_test=X[:10], y_test=y[:10])
    data = load("usps", download=False)
    assert data.X.dtype == np.float32
    assert data.X.shape == (entry.n + 10, 5)
    assert data.test.sum() == 10
    assert not data.test[: entry.n].any()
    np.savez(path, X_train=X[1:], y_train=y[1:], X_test=X[:10], y_test=y[:10])
    with pytest.raises(DatasetMismatch, match="usps has 7290 training rows"):
        load("usps")
    path.write_bytes(b"torn")
    with pytest.raises(DatasetMismatch, match="cannot be read as features"):
        read_features(path)


def test_pixels_become_standardised_images_of_three_planes(rng):
    grey = rng.uniform(0, 255, size=(50, 16 * 16))
    images = read_pixels(CATALOGUE["usps"], grey)
    assert images.shape == (50, 3, 16, 16)
    np.testing.assert_array_equal(images[:, 0], images[:, 2])
    assert images.mean() == pytest.approx(0, abs=1e-5)
    assert images.std() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(images[7, 0, 1, 3], (grey[7, 19] - grey.mean()) / grey.std(), rtol=1e-5)
    colour = rng.uniform(0, 255, size=(20, 3 * 32 * 32))
    images = read_pixels(CATALOGUE["cifar10"], colour)
    red, green = colour[:, :1024], colour[:, 1024:2048]
    np.testing.assert_allclose(images[5, 0, 0, 2], (red[5, 2] - red.mean()) / red.std(), rtol=1e-5)
    np.testing.assert_allclose(images[5, 1, 1, 0], (green[5, 32] - green.mean()) / green.std(), rtol=1e-5)
    with pytest.raises(DatasetMismatch, match="usps has 5 pixels; 256 are expected"):
        read_pixels(CATALOGUE["usps"], np.ones((3, 5)))


@pytest.mark.torch
def test_embedding_runs_a_network_in_batches(rng):
    torch = importlib.import_module("torch")
    images = rng.normal(size=(600, 3, 8, 8)).astype(np.float32)
    features = embed(images, torch.nn.AdaptiveAvgPool2d(1))
    np.testing.assert_allclose(features, images.mean(axis=(2, 3)), rtol=1e-4, atol=1e-6)


def test_without_torch_the_way_out_is_told(home, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"propense\[torch\].*features/NAME.npz"):
        fetch_features(CATALOGUE["usps"])
