#!/usr/bin/python3
"""Prints src/read/json/powers.def: powers of five as json_number.h multiplies by them.

Each is the highest 128 bits of 5^q, truncated; from 5^-27 to 5^-1 they are rounded up, so that a
product that is a whole number comes out as one.
"""

LOWEST, HIGHEST = -64, 64


def highest_bits(q):
    if q >= 0:
        power = 5 ** q
        shift = power.bit_length() - 128
        return power >> shift if shift > 0 else power << -shift
    below = 5 ** -q
    # 2^b / 5^-q has 128 bits, when 5^-q lies between 2^(b - 128) and 2^(b - 127).
    return 2 ** (below.bit_length() + 127) // below + (q >= -27)


def main():
    print("/* Powers of five from 5^%d to 5^%d, their highest 128 bits as two halves; made by" %
          (LOWEST, HIGHEST))
    print(" * tools/json_powers.py. */")
    for q in range(LOWEST, HIGHEST + 1):
        bits = highest_bits(q)
        assert bits.bit_length() == 128, q
        print("POWER(0x%016x, 0x%016x)" % (bits >> 64, bits & (2 ** 64 - 1)))


if __name__ == "__main__":
    main()
