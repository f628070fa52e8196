"""What people do with their files, as themselves: pieces of the launcher.

The standard library only, and names of spawner.launcher: `deploy.launcher` puts these files behind
it into the one program that is installed. Nothing else imports them but tests.

Paths: a root, which the portal names and whose own links are the site's, and steps below it. To
look at something, links are followed, for the user's rights are what they would be in a terminal.
To change something each step is opened by directory descriptor without following links.
"""
