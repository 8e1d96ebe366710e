export default function Page() {
  return <h1>My application</h1>;
}
