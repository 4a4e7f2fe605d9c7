"""Write what the commands say of themselves into command_line.md: `python docs/write_commands.py`."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from propense.cli._app import app

__all__ = ["describe", "walk"]

PAGE = Path(__file__).with_name("command_line.md")
BEGIN, END = "<!-- written by docs/write_commands.py -->\n", "<!-- to here -->\n"
# For each command: what follows its name in an example, and the guide that explains it: its title and its page.
EXAMPLES: dict[str, tuple[str, tuple[str, str] | None]] = {
    "fit": (
        "patients.csv --label reported --id patient --list review.csv --model patients.propense",
        ("from a table, on the command line", "guides/table.md"),
    ),
    "score": ("new.csv --model patients.propense --out scored.csv", ("scoring", "guides/table.md#score")),
    "compare": ("patients.csv --label reported --id patient", ("comparing methods", "guides/table.md#compare-methods")),
    "bounds": ("patients.csv --model patients.propense --spread 1,2,3 --purity 1,0.8", ("bounds", "guides/bounds.md")),
    "inspect": ("patients.propense", ("scoring", "guides/table.md#score")),
    "methods": ("jerm", ("which method", "which_method.md")),
    "serve": ("", ("on a local page", "guides/serve.md")),
    "demo": ("--seed 1", None),
    "audit draw": (
        "patients.csv --model patients.propense --out check.csv",
        ("you can check 100 rows", "guides/audit.md"),
    ),
    "audit read": (
        "check.csv --table patients.csv --model patients.propense --save corrected.propense",
        ("you can check 100 rows", "guides/audit.md"),
    ),
    "study run": ("plan.toml --jobs 4", ("studies", "studies.md")),
    "study status": ("plan.toml", ("studies", "studies.md")),
    "study export": ("plan.toml --out results.csv", ("studies", "studies.md")),
    "study table": ("plan.toml --score auc", ("studies", "studies.md")),
    "study compare": ("plan.toml", ("studies", "studies.md")),
    "study report": ("plan.toml --out report.html", ("studies", "studies.md")),
    "datasets list": ("", ("reproducing the paper", "guides/reproducing.md")),
    "datasets describe": ("banknote", ("reproducing the paper", "guides/reproducing.md")),
    "datasets fetch": ("nhanes", ("the survey NHANES", "guides/nhanes.md")),
}


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
    lines = [f"## {path}", "", "```text", " ".join(words), "```", "", command.help, "", *_example(path, command)]
    if shown:
        lines += ["| name | meaning |", "| --- | --- |", *(f"| {_names(each)} | {_help(each)} |" for each in shown), ""]
    if hasattr(command, "commands"):
        lines += [f"Commands: {', '.join(f'`{name}`' for name in command.commands)}.", ""]
    return "\n".join(lines)


def _example(path: str, command: Any) -> list[str]:
    """A command as one may type it, and where it is explained; none for a group of commands."""
    if hasattr(command, "commands"):
        return []
    given, page = EXAMPLES[path.removeprefix("propense ")]
    options = [each for each in command.params if each.param_type_name == "option"]
    used = {word for word in shlex.split(given) if word.startswith("--")}
    assert used <= {name for each in options for name in each.opts}, path
    assert used >= {each.opts[0] for each in options if each.required}, path
    lines = ["An example:", "", "```text", f"$ {path} {given}".rstrip(), "```", ""]
    return [*lines, f"More on it: [{page[0]}]({page[1]}).", ""] if page else lines


def _argument(argument: Any) -> str:
    name = str(argument.name).upper() if not argument.metavar else argument.metavar
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _names(each: Any) -> str:
    names = [_argument(each)] if each.param_type_name == "argument" else [*each.opts, *each.secondary_opts]
    return ", ".join(f"`{name}`" for name in names)


def _help(each: Any) -> str:
    text = " ".join((each.help or "").split()).replace("|", r"\|").replace("<", r"\<")
    if each.required:
        return f"{text} **Required.**"
    default = each.default
    return text if default is None or isinstance(default, bool) else f"{text} Default: {default}."


def write() -> None:
    """Put the sections of all commands between the two marks of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    sections = "\n".join(describe(*each) for each in walk(get_command(app)))
    PAGE.write_text(f"{before}{BEGIN}\n{sections}\n{END}{after}")


if __name__ == "__main__":
    write()
