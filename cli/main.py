"""The entry point: finds the command, and turns every end into an exit code.

0 done; 1 a check failed; 2 bad usage or bad input, or a place that cannot be written to; 3 an error of dynlab's own;
4 a check undecided; 130 interrupted; 143 terminated. Whether somebody reads what is printed changes none of them.
"""

import atexit
import contextlib
import difflib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import dynlab
from dynlab.errors import OWN, UserError, in_words, lookup, sentence, unknown

from . import COMMANDS, OTHERWISE
from .examples import example, owners
from .signals import INTERRUPTED, TERMINATED, Terminated, forget_raised, hear, interruption
from .streams import OWN_ERROR, echo, lasting, occupy

NO_NUMBER = re.compile(r"(['\"].*['\"]) is not a valid (integer|float)(?: range)?\.$")  # what click says
NOT_IN_RANGE = re.compile(r"(-?[0-9.e+]+) is not in the range \S+\.$")  # as well
BAD_INPUT = 2
ALIKE = 0.75  # an option less like what was typed is no typo of it
FEW = 3  # commands that have an option, by name; more are counted
SYNONYMS = {"epsilon": "step", "eps": "step", "dt": "step", "step-size": "step", "out": "output", "force": "overwrite"}
SENTENCE = 200  # letters, more than the first sentence of any command has


class Commands(click.Group):
    """A group that imports a command when it is named, so that help and completion stay fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = lookup(COMMANDS, cmd_name, "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its whole first sentence: click cuts them to one line."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=SENTENCE)) for name, command in found if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; an error in a command's line that click tells of no command is that command's."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand or ""
            if error.ctx is None and (command := self.get_command(ctx, name)) is not None:
                error.ctx = click.Context(command, ctx, name)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            if (meant := difflib.get_close_matches(args[0], [*COMMANDS, *OTHERWISE], 1)) and meant[0] in OTHERWISE:
                raise UserError(f"Unknown command {args[0]!r}: `dynlab {OTHERWISE[meant[0]]}` does that.")
            raise unknown("command", args[0], COMMANDS, "dynlab --help")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(dynlab.__version__, prog_name="dynlab")
def group() -> None:
    """What a recurrent network does over time, and whether its gradients survive.

    Start with `dynlab phase --matrix diff`, or with a checkpoint: `dynlab spectrum CKPT`, where CKPT is a file
    or a name that `dynlab zoo` lists.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # no process that is started runs what lies in the working folder
    occupy()
    sys.stdout, sys.stderr = lasting(sys.stdout), lasting(sys.stderr)
    hear()
    code = run(arguments)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _say(f"Standard output cannot be written to: {error.strerror}.")
        code = code or BAD_INPUT
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End at once: threads of libraries that are still at work when Python takes itself apart can abort the process."""
    atexit._run_exitfuncs()
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    os.environ["MPLBACKEND"] = "Agg"  # figures go to files: no window, also where there is a screen or another is asked
    # Torch's threads that are done wait 0.2 ms for the others before they sleep, in place of 13 ms: on a machine with
    # other work that has been most of a command's time.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    # Torch's arrays lie in large pages where the system has these: a step of training takes a fifth less.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    forget_raised()
    try:
        return _code(arguments)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _say("Interrupted.")
        return INTERRUPTED
    except Terminated:
        _say("Terminated.")
        return TERMINATED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return BAD_INPUT
    except click.ClickException as error:
        _say(f"{_where(error)}: {_of_click(error)}")
        return BAD_INPUT
    except Exception as error:  # the last resort: what is not the user's or the machine's is dynlab's own fault
        said = in_words(error)
        if not said.startswith(OWN):
            _say(f"dynlab: {said}")
            return BAD_INPUT
        echo(traceback.format_exc(), err=True)
        _say("dynlab: this is an error of dynlab's own; please report it with the lines above.")
        return OWN_ERROR


def _code(arguments: Sequence[str] | None) -> int:
    """Of a command that ends by itself; what stops it is raised as it was."""
    _check_working_folder()
    _check_digits(sys.argv[1:] if arguments is None else arguments)
    try:
        code = group.main(args=arguments, prog_name="dynlab", standalone_mode=False)
    except Exception as error:
        if (stopped := interruption(error)) is not None:
            raise stopped from error
        raise
    return code if isinstance(code, int) else 0


def _check_digits(arguments: Sequence[str]) -> None:
    """Python reads no number of more digits, whichever option it stands in."""
    most = sys.get_int_max_str_digits()  # 0: of any
    if most and any(re.search(rf"\d{{{most + 1}}}", each) for each in arguments):
        raise UserError(f"An option has a number of more than {most:,} digits: write a shorter one.")


def _check_working_folder() -> None:
    """Refuse to work in a folder that was removed: there torch's libraries end the process with words of their own."""
    try:
        os.getcwd()
    except OSError as error:
        raise UserError(f"The working folder is not there any more ({error.strerror}): go to another one.") from error


def _say(told: str) -> None:
    """One line on standard error, of a length that can be read."""
    echo(sentence(told), err=True)


def _of_click(error: click.ClickException) -> str:
    """What click says, with everything that is missing and with what to do."""
    context: click.Context | None = getattr(error, "ctx", None)
    if isinstance(error, click.MissingParameter) and context:
        from dynlab.wording import agree, joined  # and with it numpy, which help has no need of

        left = [each for each in context.command.params if each.required and each.name not in context.params]
        names = [each.opts[0] if isinstance(each, click.Option) else each.make_metavar(context) for each in left]
        return f"{joined(names)} {agree(len(names))} missing. For example: `{example(context)}`."
    said = error.format_message()
    if isinstance(error, click.NoSuchOption):
        return f"No such option {error.option_name!r}{_instead(error.option_name, context)}"
    if isinstance(error, click.BadOptionUsage) and context and "requires an argument" in said:
        option = next(each for each in context.command.params if error.option_name in each.opts)
        return f"{error.option_name} is given without a value: {error.option_name} {option.make_metavar(context)}."
    if context and getattr(getattr(error, "param", None), "name", "") == "kind":
        return f"{said} `{context.command_path} --help` says what each is."
    if isinstance(error, click.BadArgumentUsage):
        return f"{said} `dynlab COMMAND --help` has examples."
    if wrong := NOT_IN_RANGE.search(said) or NO_NUMBER.search(said):
        kind = getattr(getattr(error, "param", None), "type", None)
        return f"{said[: wrong.start()]}{wrong[1]} is no {_in_words(kind)}."
    if said.startswith("Got unexpected extra") and context:
        if context.info_name == "phase":
            got = said[said.index("(") + 1 : -1].split()[0]
            return (
                f"{said}. phase is of planar systems, which --matrix or --panel names. Of a network "
                f"`dynlab geometry {got}` shows the trajectories and fixed points on the leading principal components, "
                f"and `dynlab basins {got}` where each start on the plane of the first two ends."
            )
        return f"{said}. Leave it out: {context.command_path} --help says what is taken."
    return said


def _instead(name: str, context: click.Context | None) -> str:
    """What may be meant by an option that a command does not have: one of its own, or that of another command."""
    if context is None:
        return ": leave it out."
    own = {each.lstrip("-"): each for option in context.command.params for each in option.opts if each[:2] == "--"}
    bare = name.lstrip("-").lower()
    bare = SYNONYMS.get(bare, bare)
    close = [bare] if bare in own else [each for each in own if len(bare) > 1 and each.startswith(bare)]
    close = close or difflib.get_close_matches(bare, own, 3, ALIKE)
    if close:
        return f". Did you mean {' or '.join(own[each] for each in close)}?"
    others = [each for each in owners(name) if each != context.info_name]
    if not others:
        return f". {context.command_path} --help lists those there are."
    from dynlab.wording import agree, counted, joined

    shown = [f"`dynlab {each}`" for each in others[:FEW]]
    more = [counted(len(others) - FEW, "other command")] if len(others) > FEW else []
    return f" here: {joined(shown + more)} {agree(len(others), 'has', 'have')} it."


def _in_words(kind: object) -> str:
    """The numbers that an option takes: "whole number of at least 1", "positive number", "number"."""
    noun = "whole number" if isinstance(kind, click.IntRange | click.types.IntParamType) else "number"
    if getattr(kind, "min_open", False):  # of nothing but what is above 0
        return f"positive {noun}"
    ends = zip(("of at least", "and at most"), ("min", "max"), strict=True)
    return " ".join(
        [noun, *(f"{words} {_plain(least)}" for words, end in ends if (least := getattr(kind, end, None)) is not None)]
    )


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def _where(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "dynlab"
    return path if path.startswith("dynlab") else f"dynlab {path}"  # a sweep makes a context of its own
