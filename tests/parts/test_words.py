from decoding.words import change, percent, signed


def test_a_share_stands_before_its_sign_and_a_loss_has_a_minus() -> None:
    assert (percent(0.614), percent(0.614, 1), percent(0)) == ("61 %", "61.4 %", "0 %")
    assert (change(1.071, 1), change(0.966, 1), change(0.8)) == ("+7.1 %", "\u22123.4 %", "\u221220 %")
    assert (signed(2), signed(-0.5, 2)) == ("+2.0", "\u22120.50")
