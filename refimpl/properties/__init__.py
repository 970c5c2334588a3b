"""What each encoding is like, measured: no entry of this table is written down, each is computed from the ops.

Teaching texts contradict each other on these; a number does not. `refimpl list ops` prints the table.
"""

from .encodings import encodings as encodings
from .measure import Properties as Properties
from .measure import measure as measure
