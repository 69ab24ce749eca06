"""The core routes of hindsight's API, for programs that use its clients. A bank is a namespace."""
