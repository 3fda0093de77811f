"""Date formats of the admin: in UTC with the words "UTC", as on all other pages."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = r"Y-m-d H:i \U\T\C"
TIME_FORMAT = "H:i"
