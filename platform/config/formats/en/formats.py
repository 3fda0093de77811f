"""How the admin writes instants: as all other pages do, in UTC, and saying so."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = r"Y-m-d H:i \U\T\C"
TIME_FORMAT = "H:i"
