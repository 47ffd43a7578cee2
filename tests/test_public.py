"""The public face: few names, all there, each with a docstring."""

import prism_explore as px


def test_the_public_names_are_these(golden):
    golden("public_names", "\n".join(sorted(px.__all__)))


def test_every_public_name_can_be_had_and_says_what_it_is():
    for name in px.__all__:
        assert getattr(px, name).__doc__, name


def test_what_is_listed_is_what_can_be_loaded():
    assert sorted(px.__all__) == sorted(px._HOMES)
