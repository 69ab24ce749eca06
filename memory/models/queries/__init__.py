"""SQL that Django's ORM does not write, one module for each capability. Services call its functions."""
