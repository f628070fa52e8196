import { VisuallyHidden } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { joinSentences } from '@/i18n/lists';
import { spokenJobChanges, spokenSessionChanges } from '@/live/announce';
import { useLive } from '@/live/store';

/** A live region that announces changes to screen readers politely. */
export function Announcer() {
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  const previous = useRef({ sessions, jobs });
  const [text, setText] = useState('');
  useEffect(() => {
    const sentences = [
      ...spokenSessionChanges(previous.current.sessions, sessions),
      ...spokenJobChanges(previous.current.jobs, jobs),
    ];
    previous.current = { sessions, jobs };
    if (sentences.length > 0) setText(joinSentences(sentences));
  }, [sessions, jobs]);
  return (
    <VisuallyHidden role="status" aria-live="polite">
      {text}
    </VisuallyHidden>
  );
}
