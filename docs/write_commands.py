"""Write what the commands say of themselves into command_line.md: `python docs/write_commands.py`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from propense.cli._app import app

__all__ = ["describe", "walk"]

PAGE = Path(__file__).with_name("command_line.md")
BEGIN, END = "<!-- written by docs/write_commands.py -->\n", "<!-- to here -->\n"


def walk(command: Any, path: str = "propense") -> Iterator[tuple[str, Any]]:
    """Every command below this one, and itself, with the words that call it."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from walk(each, f"{path} {name}")


def describe(path: str, command: Any) -> str:
    """A command's section: how it is called, what it does, its arguments and options."""
    shown = [each for each in command.params if not getattr(each, "hidden", False) and each.name != "help"]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    words = [path, "[OPTIONS]", *(_argument(each) for each in arguments)]
    if hasattr(command, "commands"):
        words.append("COMMAND")
    lines = [f"## {path}", "", "```text", " ".join(words), "```", "", command.help, ""]
    if shown:
        lines += ["| name | meaning |", "| --- | --- |", *(f"| {_names(each)} | {_help(each)} |" for each in shown), ""]
    if hasattr(command, "commands"):
        lines += [f"Commands: {', '.join(f'`{name}`' for name in command.commands)}.", ""]
    return "\n".join(lines)


def _argument(argument: Any) -> str:
    name = str(argument.name).upper() if not argument.metavar else argument.metavar
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _names(each: Any) -> str:
    names = [_argument(each)] if each.param_type_name == "argument" else [*each.opts, *each.secondary_opts]
    return ", ".join(f"`{name}`" for name in names)


def _help(each: Any) -> str:
    text = " ".join((each.help or "").split()).replace("|", r"\|").replace("<", r"\<")
    default = each.default
    return text if each.required or default is None or isinstance(default, bool) else f"{text} Default: {default}."


def write() -> None:
    """Put the sections of all commands between the two marks of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    sections = "\n".join(describe(*each) for each in walk(get_command(app)))
    PAGE.write_text(f"{before}{BEGIN}\n{sections}\n{END}{after}")


if __name__ == "__main__":
    write()
