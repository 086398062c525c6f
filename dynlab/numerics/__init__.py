"""Arrays in, arrays out: the numerical methods that more than one question needs. No systems and no Datasets here."""
