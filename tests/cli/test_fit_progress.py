"""The progress of a fit: on a terminal only."""

from propense.cli._fit_progress import fit_in_words, show_progress, show_steps


def test_a_terminal_shows_what_is_being_done(monkeypatch, capsys):
    # By this, rich takes any stream for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress(fit_in_words) as show:
        show("fit", 3, 15)
    assert "Fitting: 3 of 15 models" in capsys.readouterr().err
    with show_progress(fit_in_words) as show:
        show("test", 0, 1)
    assert "Testing whether labels are at random" in capsys.readouterr().err


def test_a_command_of_several_steps_names_each(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_steps():
        pass
    assert "Reading the table" in capsys.readouterr().err
    with show_steps() as doing:
        doing("Correcting the model")
    assert "Correcting the model" in capsys.readouterr().err


def test_a_log_shows_nothing(capsys):
    with show_progress(fit_in_words) as show:
        assert show is None
    with show_steps() as doing:
        doing("Correcting the model")
    assert capsys.readouterr() == ("", "")
