import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useAction } from '@/ui/useAction';
import { filterMembers } from './labels';
import classes from './Members.module.css';
import type { GroupMember } from './types';

interface Props {
  group: string;
  members: GroupMember[];
  /** whether each links to the user's page */
  links?: boolean;
  onRemove?: ((username: string) => Promise<unknown>) | undefined;
}

const SEARCH_FROM = 8;
const AT_ONCE = 100;

/** The members of a group; a long list has a search field. */
export function Members({ group, members, links = false, onRemove }: Props) {
  const [text, setText] = useState('');
  const [most, setMost] = useState(AT_ONCE);
  const matches = filterMembers(members, text);
  const left = matches.length - most;
  if (members.length === 0)
    return (
      <p className={classes.quiet}>
        <Trans>The group has no members.</Trans>
      </p>
    );
  return (
    <>
      {members.length >= SEARCH_FROM && (
        <TextInput
          className={classes.wide}
          type="search"
          aria-label={t`Find members`}
          placeholder={t`Find members`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
      )}
      {matches.length === 0 && (
        <p className={classes.quiet}>
          <Trans>No matching members.</Trans>
        </p>
      )}
      <ul className={classes.list} aria-label={t`Members of ${group}`}>
        {matches.slice(0, most).map((member) => (
          <Member
            key={member.username}
            group={group}
            member={member}
            links={links}
            onRemove={onRemove}
          />
        ))}
      </ul>
      {left > 0 && (
        <Button variant="default" size="compact-sm" onClick={() => setMost(most + AT_ONCE)}>
          <Trans>Show more ({left} left)</Trans>
        </Button>
      )}
    </>
  );
}

interface MemberProps {
  group: string;
  member: GroupMember;
  links: boolean;
  onRemove: Props['onRemove'];
}

function Member({ group, member, links, onRemove }: MemberProps) {
  const [busy, run] = useAction();
  const { username, display_name: name } = member;
  const notes = [
    ...(member.disabled ? [t`disabled`] : []),
    ...(member.role === 'admin' ? [t`administrator`] : []),
    ...(member.role === 'viewer' ? [t`viewer`] : []),
    ...(member.inherited ? [t`through a group within it`] : []),
  ];
  return (
    <li className={classes.member}>
      <span className={classes.who}>
        {links ? (
          <Link to="/admin/users/$username" params={{ username }}>
            {name || username}
          </Link>
        ) : (
          <span>{name || username}</span>
        )}{' '}
        <span className={classes.about}>
          {[...(name && name !== username ? [username] : []), ...notes].join(' · ')}
        </span>
      </span>
      {onRemove && !member.inherited && (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          c="dimmed"
          fw={500}
          loading={busy}
          onClick={() => void run(() => onRemove(username))}
          aria-label={t`Remove ${username} from ${group}`}
        >
          <Trans>Remove</Trans>
        </Button>
      )}
    </li>
  );
}
