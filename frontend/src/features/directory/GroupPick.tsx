import { t } from '@lingui/core/macro';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { SERVER_SEARCH_DELAY_MS } from '@/lib/typing';
import { type PickProps, SearchPick } from '@/ui/SearchPick';
import { groupsFoundQuery } from './groups';

/** A field that searches groups of the directory. */
export function GroupPick(props: PickProps) {
  const [text, setText] = useState('');
  const [typed] = useDebouncedValue(text.trim(), SERVER_SEARCH_DELAY_MS);
  const { data, error, isFetching } = useQuery({
    ...groupsFoundQuery(typed),
    placeholderData: keepPreviousData,
  });
  const choices = data?.map(({ name, description }) => ({ name, about: description ?? '' }));
  return (
    <SearchPick
      {...props}
      text={text}
      setText={setText}
      none={t`There is no such group.`}
      suggestions={{ choices, error, pending: isFetching || typed !== text.trim() }}
    />
  );
}
