import gc

from judges.once import once_each


def test_the_same_object_is_worked_on_once() -> None:
    asked: list[list[int]] = []

    def total(numbers: list[int]) -> int:
        asked.append(numbers)
        return sum(numbers)

    once = once_each(total)
    first, equal = [1, 2], [1, 2]
    assert [once(first), once(first), once(equal), once(first)] == [3, 3, 3, 3]
    assert [numbers is first for numbers in asked] == [True, False]


def test_an_object_in_the_place_of_one_that_is_gone_is_worked_on_anew() -> None:
    def only(numbers: list[int]) -> int:
        return numbers[0]

    once = once_each(only)
    for number in range(2000):
        assert once([number]) == number
        gc.collect(0)
