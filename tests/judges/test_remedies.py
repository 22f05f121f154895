from contextvars import copy_context

from judges.remedies import also_has, by_option, options_are


def _said() -> tuple[str, str]:
    return by_option("--map", "map it with --map", "mend the file"), by_option("--json", "use --json")


def test_a_remedy_is_told_by_an_option_where_the_command_has_it_and_in_another_way_elsewhere() -> None:
    def in_a_command() -> None:
        options_are(["--json", "-j"])
        assert _said() == ("mend the file", "use --json")
        with also_has("--map"):
            assert _said() == ("map it with --map", "use --json")
        assert _said() == ("mend the file", "use --json")
        options_are(())
        assert _said() == ("mend the file", "")

    copy_context().run(in_a_command)


def test_where_there_is_no_command_remedies_are_told_as_the_command_line_has_them() -> None:
    with also_has("--json"):
        assert _said() == ("map it with --map", "use --json")
