"""SQL that Django's ORM cannot write, one module for each capability. Services call its functions."""
