"""English words of the numbers from 0 to 99, for the judges that read them and the simulated models that write them."""

_UNITS = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
UNITS = tuple(_UNITS.split())
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
