import { Title } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';

interface Props {
  children: ReactNode;
  /** the title of the browser tab, as plain text */
  tab: string;
}

/** A page's heading. It takes the focus after a navigation within the application. */
export function PageTitle({ children, tab }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const router = useRouter();
  useEffect(() => {
    document.title = `${tab} · Data Scientist Portal`;
  }, [tab]);
  useEffect(() => {
    const movedHere = router.history.length > 1 && router.state.resolvedLocation !== undefined;
    if (movedHere && document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, [router]);
  return (
    <Title order={1} size="h2" ref={heading} tabIndex={-1}>
      {children}
    </Title>
  );
}
