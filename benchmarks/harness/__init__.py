"""What all suites share: the command, the writer, measurements, problems and data sets."""
