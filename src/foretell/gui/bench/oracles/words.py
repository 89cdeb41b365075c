"""What some tasks take for known: which words mean the same, and how digits are drawn with checkboxes."""

from __future__ import annotations

SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        "big large huge enormous gigantic",
        "small tiny little mini petite",
        "red scarlet crimson vermillion",
        "happy cheerful joyful gleeful delighted",
        "sad unhappy sorrowful miserable tragic",
        "angry mad furious irritated",
        "evil wicked immoral sinful corrupt depraved",
        "wrong incorrect mistaken erroneous",
        "real genuine actual",
        "strange odd peculiar unusual weird",
        "stop cease halt end finish",
        "scared terrified panicked fearful frightened afraid",
        "quiet calm peaceful serene mild",
        "old aged archaic",
        "love like adore favor",
        "kill murder assassinate",
        "keep retain preserve sustain maintain",
        "hide conceal camouflage",
        "hate despise loathe detest dislike",
        "funny humorous amusing comical laughable",
        "fat fleshy plump chubby",
        "stupid dumb dull unwise",
        "delicious savory delectable appetizing",
        "cut slice carve chop",
        "brave courageous fearless",
        "begin start initiate launch",
        "answer reply response",
        "television televisions TV TVs",
        "house home houses homes",
        "fire flame fires flames",
        "pig pork swine pig",
        "rabbit rabbits bunny bunnies",
        "car cars automobile automobiles vehicle vehicles",
        "water",
    )
)
# Seven rows of four boxes each, from the top left.
DIGITS: tuple[str, ...] = (
    "0110100110011001100110010110",
    "0010011000100010001000100010",
    "0110100110010010010010001111",
    "0110100100010110000110010110",
    "1000101010101111001000100010",
    "1111100010001110000110010110",
    "0110100110001110100110010110",
    "1111100100010010001001000100",
    "0110100110010110100110010110",
    "0110100110010111000110010110",
)
