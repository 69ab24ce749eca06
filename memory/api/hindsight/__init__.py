"""The core routes of hindsight's API, for programs that use its clients: a bank is a namespace."""
