import { t } from '@lingui/core/macro';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type PickProps, SearchPick } from '@/ui/SearchPick';
import { groupsFoundQuery } from './groups';

const TYPED_MS = 200;

/** A field that searches groups of the directory. */
export function GroupPick(props: PickProps) {
  const [text, setText] = useState('');
  const [typed] = useDebouncedValue(text.trim(), TYPED_MS);
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
