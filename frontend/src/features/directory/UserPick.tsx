import { t } from '@lingui/core/macro';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { SERVER_SEARCH_DELAY_MS } from '@/lib/typing';
import { type PickProps, SearchPick } from '@/ui/SearchPick';
import { displayNameOf } from './names';
import { userSearchQuery } from './queries';

/** A field that searches users. */
export function UserPick(props: PickProps) {
  const [text, setText] = useState('');
  const [typed] = useDebouncedValue(text.trim(), SERVER_SEARCH_DELAY_MS);
  const { data, error, isFetching } = useQuery({
    ...userSearchQuery(typed),
    placeholderData: keepPreviousData,
  });
  const choices = data?.map((row) => ({ name: row.username, about: displayNameOf(row) }));
  return (
    <SearchPick
      {...props}
      text={text}
      setText={setText}
      none={t`There is no such user.`}
      suggestions={{ choices, error, pending: isFetching || typed !== text.trim() }}
    />
  );
}
