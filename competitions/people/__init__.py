"""One person over all competitions: their public record, their data, the end of an account."""
