export const metadata = { title: 'T5 buckets and ALiBi' };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
