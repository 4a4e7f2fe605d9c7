"""Groups are compared with their uncertainty: chance, and the assumptions of the method."""

import numpy as np
import pytest

from propense.tables import Group, Grouping, compare_groups
from propense.tables.groups import LEAST, group_labels
from propense.tables.schema import Column, Schema


def grouping(shares, positives, *, low=0.8, high=1.25, column="sex"):
    """Groups with these labelled shares; the method's range moves all of them alike."""
    groups = []
    for i, (share, count) in enumerate(zip(shares, positives, strict=True)):
        labelled = round(share * count)
        groups.append(Group(f"g{i}", 10 * count, labelled, count, max(low * count, labelled), high * count))
    return Grouping(column, tuple(groups))


@pytest.mark.slow
def test_shares_that_differ_by_chance_are_called_alike_in_nineteen_of_twenty_fits(rng):
    false = 0
    for _ in range(400):
        positives = [40, 60, 100, 200]
        columns = [
            Grouping(
                name,
                tuple(Group(f"{i}", 5 * n, int(rng.binomial(n, 0.5)), float(n)) for i, n in enumerate(positives)),
            )
            for name in "abcde"
        ]
        false += any(each.differs for each in compare_groups(columns))
    assert false / 400 < 0.08


def test_groups_of_a_real_difference_are_told_apart_with_ranges_on_their_sides_of_one():
    found = compare_groups([grouping([0.2, 0.6], [300, 300])])[0]
    assert found.differs
    assert (found.lowest.group.name, found.highest.group.name) == ("g0", "g1")
    assert found.lowest.ratio_low < 0.5 < found.lowest.ratio < found.lowest.ratio_high < 1
    assert 1 < found.highest.ratio_low < found.highest.ratio < found.highest.ratio_high


def test_a_difference_that_an_end_of_the_range_takes_away_is_not_one():
    """Under the middle estimate and at one end the groups differ, at the other end they do not."""
    even = Group("f", 1000, 150, 300.0, 250.0, 400.0), Group("m", 1000, 75, 300.0, 125.0, 400.0)
    found = compare_groups([Grouping("sex", even)])[0]
    assert not found.differs
    assert all(share.ratio == 1 for share in found.groups)
    assert all(share.ratio_low < 1 < share.ratio_high for share in found.groups)
    without = Grouping("sex", tuple(Group(g.name, g.rows, g.labelled, g.positives) for g in even))
    assert compare_groups([without])[0].differs


def test_small_groups_are_drawn_further_towards_the_overall_share():
    kept = []
    for count in (400, 12):
        found = compare_groups([grouping([0.2, 0.6, 0.5], [400, 400, count])])[0]
        groups = [share.group for share in found.groups]
        overall = sum(group.labelled for group in groups) / sum(group.positives for group in groups)
        last = found.groups[2]
        kept.append(((last.ratio - 1) / (last.group.frequency / overall - 1), last.ratio_high - last.ratio_low))
    (large, narrow), (small, wide) = kept
    assert 0 < small < large < 1
    assert wide > 3 * narrow


def test_a_group_with_few_positives_has_no_share():
    found = compare_groups([grouping([0.2, 0.6, 0.9], [300, 300, 9])])[0]
    assert [share.known for share in found.groups] == [True, True, False]
    assert np.isnan(found.groups[2].share)
    alone = compare_groups([grouping([0.5, 0.9], [300, 9])])[0]
    assert not alone.differs
    assert not any(share.known for share in alone.groups)


def test_shares_are_within_what_the_group_allows():
    for share in compare_groups([grouping([0.1, 0.95], [50, 400])])[0].groups:
        assert share.group.labelled / share.group.rows <= share.low <= share.share <= share.high <= 1


@pytest.mark.parametrize(
    ("values", "names"),
    [
        # A part with one value is that value.
        ([0] * 60 + [1] * 30 + [2, 3, 4, 5] * 5, ["0", "1", "> 1"]),
        ([0, 1, 2, 3] * 25, ["0", "1", "2", "3"]),
        # Large numbers have commas and no powers of ten; years have none.
        (np.linspace(12_345.67, 45_678.9, 201), ["≤ 20,680", "20,680 to 29,010", "29,010 to 37,350", "> 37,350"]),
        (np.repeat(np.arange(1981, 2021), 5), ["≤ 1990", "1990 to 2000", "2000 to 2010", "> 2010"]),
        (np.linspace(0.0, 0.123456, 201), ["≤ 0.03086", "0.03086 to 0.06173", "0.06173 to 0.09259", "> 0.09259"]),
    ],
)
def test_parts_of_numbers_are_named_as_people_write_numbers(values, names):
    matrix = np.asarray(values, dtype=float)[:, np.newaxis]
    n = len(matrix)
    found = group_labels(Schema((Column("x", "number"),)), matrix, np.zeros(n, bool), np.ones(n))
    assert [group.name for group in found[0].groups] == names


def test_small_categories_are_pooled_and_small_neighbours_joined(rng):
    n = 400
    category = np.where(np.arange(n) < 380, 0, 1 + np.arange(n) % 4).astype(float)
    number = np.r_[np.linspace(0, 1, 100), np.linspace(1, 4, 300)]
    matrix = np.column_stack([category, number])
    schema = Schema((Column("site", "category", ("a", "b", "c", "d", "e")), Column("age", "number")))
    # No positives at low ages.
    positive = np.where(number < 1, 0.0, 0.5)
    found = {each.column: each for each in group_labels(schema, matrix, np.zeros(n, bool), positive)}
    assert [group.name for group in found["site"].groups] == ["a", "other (4 small groups)"]
    assert all(group.positives >= LEAST for group in found["age"].groups)
    assert len(found["age"].groups) == 3
    for each in found.values():
        assert sum(group.rows for group in each.groups) == n
        assert sum(group.positives for group in each.groups) == pytest.approx(positive.sum())
