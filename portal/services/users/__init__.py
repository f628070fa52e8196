"""Users and groups as administrators list, create and change them."""
