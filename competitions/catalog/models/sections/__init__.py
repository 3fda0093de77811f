"""A phase's settings by subject: fields, allowed values, places in forms and in the API."""
