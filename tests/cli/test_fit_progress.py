"""The progress of a fit: on a terminal only."""

from propense.cli._fit_progress import fit_in_words, show_progress


def test_a_terminal_shows_what_is_being_done(monkeypatch, capsys):
    # By this, rich takes any stream for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress(fit_in_words) as show:
        show("fit", 3, 15)
    assert "Fitting: 3 of 15 models" in capsys.readouterr().err
    with show_progress(fit_in_words) as show:
        show("test", 0, 1)
    assert "Testing whether labels are at random" in capsys.readouterr().err


def test_a_log_shows_nothing(capsys):
    with show_progress(fit_in_words) as show:
        assert show is None
    assert capsys.readouterr() == ("", "")
