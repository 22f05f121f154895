import pytest

from judges import Case
from judges.datasets.tiers import Tier, of_tier, tier_of
from judges.errors import InputError
from support.builders import make_case


def tiered(*names: object) -> list[Case]:
    return [make_case(at, extra={} if name is None else {"tier": name}) for at, name in enumerate(names)]


def test_a_tier_has_the_smaller_ones_in_it() -> None:
    cases = tiered("smoke", "regression", "deep", None)
    for tier, count in ((Tier.SMOKE, 1), (Tier.REGRESSION, 2), (Tier.DEEP, 4), (None, 4)):
        assert len(list(of_tier(cases, tier))) == count


def test_a_set_without_the_tier_or_with_a_tier_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no case is of tier smoke; mark those that are"):
        list(of_tier(tiered("deep", None), Tier.SMOKE))
    with pytest.raises(InputError, match="case `c0`: `tier` is `smok`; choose of smoke, regression, deep"):
        list(of_tier(tiered("smok"), Tier.SMOKE))
    assert list(of_tier([], Tier.SMOKE)) == []
    assert tier_of(make_case(1)) is None
